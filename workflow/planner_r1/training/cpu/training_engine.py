"""verl's FSDP2 training engine for the CPU: logits only where the loss looks at them, and cheaper norms.

In an episode of tool use two thirds of the tokens are prompt and tool replies. verl computes logits over the whole
vocabulary for all of them and masks the result; with a small model that, and the softmax over it, is a third of the
work. Here the output layer sees only the positions whose next token the policy itself wrote.
"""

import torch
import torch.nn.functional as F
from tensordict import TensorDict
from verl.utils import tensordict_utils as tu
from verl.utils.torch_functional import entropy_from_logits
from verl.workers.engine import EngineRegistry, FSDPEngineWithLMHead

from planner_r1.training.cpu.rms_norm import replace_rms_norms

# What a micro-batch may ask for beyond log-probabilities and entropy. verl's own code answers those.
_UNUSUAL = ("use_fused_kernels", "distillation_use_topk", "distillation_only", "calculate_sum_pi_squared")


@EngineRegistry.register(model_type="language_model", backend="fsdp2", device="cpu")
class CpuTrainingEngine(FSDPEngineWithLMHead):
    """Same results as `FSDPEngineWithLMHead` wherever the loss mask is 1; 0 everywhere else."""

    def _build_module(self):
        module = super()._build_module()
        replace_rms_norms(module)
        return module

    def prepare_model_inputs(self, micro_batch: TensorDict):
        """See the base class. Adds the positions at which the model computes logits."""
        inputs, output_args = super().prepare_model_inputs(micro_batch)
        if self._is_usual(micro_batch) and not output_args["pad_size"]:
            positions = loss_positions(micro_batch["input_ids"], micro_batch["loss_mask"])
            inputs["logits_to_keep"] = output_args["positions"] = positions
        return inputs, output_args

    def prepare_model_outputs(self, output, output_args, micro_batch: TensorDict, logits_processor_func):
        """See the base class.

        Returns:
            nested tensors [sequences, (length)]: at each position the log-probability of the next token, and if asked
            for the entropy there.
        """
        if "positions" not in output_args:
            return super().prepare_model_outputs(output, output_args, micro_batch, logits_processor_func)
        positions = output_args["positions"]
        logits = output.logits[0].float()  # [positions, vocabulary]
        if not output_args["temperature_is_one"]:
            logits = logits / output_args["temperature_rmpad"][positions, None].clamp(min=1e-8)
        next_tokens = output_args["input_ids_rmpad_rolled"][positions]
        found = {"log_probs": -F.cross_entropy(logits, next_tokens, reduction="none")}
        if tu.get_non_tensor_data(data=micro_batch, key="calculate_entropy", default=False):
            found["entropy"] = entropy_from_logits(logits)
        input_ids = micro_batch["input_ids"]
        everywhere = logits.new_zeros(input_ids.values().shape[0])
        return {
            name: torch.nested.nested_tensor_from_jagged(
                everywhere.index_put((positions,), values), input_ids.offsets()
            )
            for name, values in found.items()
        }

    @staticmethod
    def _is_usual(micro_batch: TensorDict) -> bool:
        packed = tu.get_non_tensor_data(data=micro_batch, key="use_remove_padding", default=True)
        asked = (tu.get_non_tensor_data(data=micro_batch, key=key, default=False) for key in _UNUSUAL)
        return packed and not any(asked)


def loss_positions(input_ids: torch.Tensor, loss_mask: torch.Tensor) -> torch.Tensor:
    """Positions in the packed row whose next token counts in the loss.

    Args:
        input_ids: nested [sequences, (length)], prompts with their responses.
        loss_mask: nested [sequences, (length of the response)] or, as in supervised training, as long as the whole
            sequences: in either case it belongs to the last tokens of each sequence.

    Returns:
        ascending positions, int64.
    """
    ends = input_ids.offsets()[1:]
    lengths = loss_mask.offsets().diff()
    # Move each mask from its own packing to that of the tokens, one to the left: the logits that predict a token stand
    # one position before it. A mask on a sequence's first token has nothing to stand on and is left out.
    shift = ends - loss_mask.offsets()[1:] - 1
    counted = loss_mask.values().bool()
    positions = torch.arange(counted.shape[0]) + torch.repeat_interleave(shift, lengths)
    starts = torch.repeat_interleave(input_ids.offsets()[:-1], lengths)
    return positions[counted & (positions >= starts)]
