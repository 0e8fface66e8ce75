"""What the evaluator says about one plan."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Verdict:
    """The answers to the thirteen constraints.

    commonsense: the eight answers by their official names; all None where the plan could not be judged
    hard: the five answers, None for each that the query does not ask; None as a whole where the hard part was not
        reached (it is reached where is_valid_information_in_sandbox and is_not_absent hold)
    total_cost: US dollars for all people, where the hard part was reached
    reason: why the plan does not pass, None where it does
    reasons: the same for each constraint that failed
    """

    delivered: bool
    commonsense: dict[str, bool | None]
    hard: dict[str, bool | None] | None = None
    total_cost: float | None = None
    reason: str | None = None
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def commonsense_pass(self) -> bool:
        return all(self.commonsense.values())

    @property
    def hard_pass(self) -> bool:
        """Every constraint that was asked holds; False where the hard part was not reached."""
        return self.hard is not None and False not in self.hard.values()

    @property
    def final_pass(self) -> bool:
        return self.commonsense_pass and self.hard_pass

    def to_json(self) -> dict:
        return {
            "delivered": self.delivered,
            "commonsense": self.commonsense,
            "hard": self.hard,
            "total_cost": self.total_cost,
            "final_pass": self.final_pass,
            "reason": self.reason,
            "reasons": self.reasons,
        }
