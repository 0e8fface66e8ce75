"""A learning rate's schedule goes over a whole run, of which one process of verl trains a phase."""

import pytest
from omegaconf import OmegaConf

from planner_r1.training.config import compose_config

ROWS = 64


@pytest.fixture
def dataloaders_of(monkeypatch):
    """The trainer's configuration after its data loaders were made, verl's own part stood in for by what it sets."""
    trainer = pytest.importorskip("planner_r1.training.trainer")

    def init(self):
        self.train_dataset = self.val_dataset = [None] * ROWS
        self.config.actor_rollout_ref.actor.optim.total_training_steps = self.config.trainer.total_training_steps

    monkeypatch.setattr(trainer.PPOTrainerSync, "_init_dataloader", init)
    monkeypatch.setattr(trainer, "row_count", lambda path: ROWS)

    def made(**run):
        made = object.__new__(trainer.PlannerTrainer)
        made.config = compose_config("cpu", {}, {"trainer.total_training_steps": 3} | run)
        OmegaConf.set_struct(made.config, True)
        made._init_dataloader()
        return made.config

    return made


def test_the_schedule_ends_with_the_last_phase_and_the_process_with_its_own(dataloaders_of):
    config = dataloaders_of(planner_r1={"last_step": 7})
    assert config.actor_rollout_ref.actor.optim.total_training_steps == 7
    assert config.trainer.total_training_steps == 3


def test_an_evaluation_has_no_phases(dataloaders_of):
    assert dataloaders_of().actor_rollout_ref.actor.optim.total_training_steps == 3
