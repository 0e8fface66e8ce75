"""verl's synchronous trainer, which also logs and dumps what the reward function returned for each episode.

verl keeps sub-rewards in validations only. This subclass adds their means and the share of each end reason to the
metrics of every step, and their values to the dump of the rollouts. A learning rate's schedule goes over the whole run,
where verl takes the steps of one process, that is of one phase. The advantage rules of our own are told what verl does
not tell an estimator: which episodes succeeded, and how far the run is. Importing the module registers the trainer with
verl under `trainer.v1.trainer_mode`.
"""

from __future__ import annotations

import numpy as np
import torch
import transfer_queue
from omegaconf import OmegaConf, open_dict
from verl.trainer.ppo.core_algos import ADV_ESTIMATOR_REGISTRY
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync

from planner_r1.training import advantage_rules
from planner_r1.training.episodes import end_shares, step_metrics
from planner_r1.training.rows import row_count

MODE = "planner_r1"
LEAST_PLAYED = 0.9  # of a step's episodes


@register_trainer(MODE)
class PlannerTrainer(PPOTrainerSync):
    """See the module."""

    def __init__(self, config):
        with open_dict(config):
            config.trainer.v1.trainer_mode = "sync"  # verl tells its own modes apart by name further down
        super().__init__(config)
        if config.algorithm.adv_estimator in advantage_rules.names():
            # verl's decorator refuses a second trainer of this process
            ADV_ESTIMATOR_REGISTRY[config.algorithm.adv_estimator] = self._advantages_by_rule

    def _init_dataloader(self):
        try:
            super()._init_dataloader()
        except ValueError:
            self._check_prompts()  # torch's words for a data set without a row do not say why it has none
            raise
        self._check_prompts()
        if "planner_r1" in self.config:  # a training run, not an evaluation
            self.config.actor_rollout_ref.actor.optim.total_training_steps = self.config.planner_r1.last_step

    def _check_prompts(self) -> None:
        """Refuse a limit that leaves out validation prompts, or too many for a step of training."""
        limit = f"data.max_prompt_length={self.config.data.max_prompt_length}"
        rows = {name: row_count(self.config.data[f"{name}_files"]) for name in ("train", "val")}
        if len(self.val_dataset) < rows["val"]:
            dropped = rows["val"] - len(self.val_dataset)
            raise ValueError(f"{dropped} of {rows['val']} validation prompts are longer than {limit}: raise the limit")
        queries = self.config.data.train_batch_size
        if len(self.train_dataset) < queries and not self.config.trainer.val_only:
            raise ValueError(
                f"{len(self.train_dataset)} of {rows['train']} training prompts fit {limit}, fewer than "
                f"data.train_batch_size={queries}"
            )

    # ---- dynamic sampling -------------------------------------------------------------------------------------

    def _build_replay_buffer(self):
        buffer = super()._build_replay_buffer()
        if metric := self._resolve_filter_groups_metric():
            # verl tells this to its own buffer only, not to one that the configuration names.
            buffer.filter_groups_metric = metric
            buffer.train_batch_size, buffer.gen_batch_size = self.config.data.train_batch_size, 1
            buffer.max_inflight_gen_batches = self.config.algorithm.filter_groups.max_inflight_gen_batches
        return buffer

    def prepare_step(self) -> dict:
        self._asked = self.config.data.train_batch_size
        return super().prepare_step()

    def _add_prompts_to_generate(self, num_prompts: int) -> int:
        """Ask further queries in a step, up to a limit that verl's synchronous trainer knows and does not heed."""
        self._asked += num_prompts
        batches = self.config.algorithm.filter_groups.max_num_gen_batches
        if 0 < batches * self.config.data.train_batch_size < self._asked:
            raise RuntimeError(
                f"step {self.global_steps}: {batches} batches of queries (algorithm.filter_groups.max_num_gen_batches) "
                "have too few whose episodes differ in their reward; raise the limit, or start from a model that "
                "solves some"
            )
        return super()._add_prompts_to_generate(num_prompts)

    # ---- failed episodes --------------------------------------------------------------------------------------

    def _balance_batch(self, batch, metrics, *args, **kwargs):
        """Log how many episodes a step has, and stop where too many are missing: verl fills the places of those whose
        agent loop raised with empty ones, and trains on."""
        asked = self.config.data.train_batch_size * self.config.actor_rollout_ref.rollout.n
        played = len(batch.keys)
        metrics["training/episodes"] = played
        if played < LEAST_PLAYED * asked:
            raise RuntimeError(
                f"step {self.global_steps}: {asked - played} of {asked} episodes failed, more than a tenth; the engine "
                "or the tools do not work: the first error of an agent loop stands above in this log"
            )
        return super()._balance_batch(batch, metrics, *args, **kwargs)

    # ---- advantages -------------------------------------------------------------------------------------------

    def _compute_advantage(self, batch, metrics):
        if self.config.algorithm.adv_estimator in advantage_rules.names():
            self._success = np.array([info["success"] == 1.0 for info in self._reward_infos(batch.keys)])
        return super()._compute_advantage(batch, metrics)

    def _advantages_by_rule(self, token_level_rewards, response_mask, index, **_) -> tuple[torch.Tensor, torch.Tensor]:
        """verl's estimator: (N, T) advantages and returns of the rows of the batch, in the batch's order."""
        name, run = self.config.algorithm.adv_estimator, self.config.planner_r1
        advantages = advantage_rules.token_advantages(
            name,
            OmegaConf.to_container(run.algorithm["keys"]) if "algorithm" in run else {},
            rewards=token_level_rewards.sum(dim=-1).numpy(),
            success=self._success,
            mask=response_mask.numpy(),
            queries=index,
            longest=self.config.data.max_response_length,
            progress=(self.global_steps - 1) / max(run.last_step - 1, 1),
        )
        tensor = torch.from_numpy(advantages).to(token_level_rewards)
        return tensor, tensor

    # ---- records ----------------------------------------------------------------------------------------------

    def _compute_metrics(self, batch, metrics, timing_raw, global_steps, epoch):
        super()._compute_metrics(batch, metrics, timing_raw, global_steps, epoch)
        real = [k for k, tag in zip(batch.keys, batch.tags, strict=True) if not tag.get("is_padding", False)]
        metrics.update(step_metrics(self._reward_infos(real)))
        metrics["training/queries_asked"] = self._asked  # more than the batch where dynamic sampling asked further ones

    def _val_metrics_update(self, data_sources, sample_uids, reward_extra_infos_dict, *args, **kwargs):
        metrics = super()._val_metrics_update(data_sources, sample_uids, reward_extra_infos_dict, *args, **kwargs)
        shares = end_shares(reward_extra_infos_dict["end_reason"])
        return metrics | {f"val-aux/{key}": share for key, share in shares.items()}

    def _dump_generations(self, inputs, outputs, gts, scores, reward_extra_infos_dict, dump_path):
        if dump_path == self.config.trainer.rollout_data_dir:
            infos = self._reward_infos(reward_extra_infos_dict["uid"])
            columns = {key: [info[key] for info in infos] for key in infos[0]}
            reward_extra_infos_dict = {**columns, **reward_extra_infos_dict}
        super()._dump_generations(inputs, outputs, gts, scores, reward_extra_infos_dict, dump_path)

    @staticmethod
    def _reward_infos(keys: list[str]) -> list[dict]:
        """What the reward function returned, in the order of `keys` (verl's keys of the step's episodes)."""
        data = transfer_queue.kv_batch_get(keys=keys, partition_id="train", select_fields=["extra_fields"])
        return [fields["reward_extra_info"] for fields in list(data["extra_fields"])]
