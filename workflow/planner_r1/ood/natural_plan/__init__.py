"""NaturalPlan: trips, meetings and calendars to plan; Zheng et al. 2024, google-deepmind/natural-plan.

Each task has its module with both scores: `official_score`, the exact match as the authors' scorer computes it, and
`fault`, a judgement of our own: why a plan breaks the task's constraints, or None for a valid plan, golden or not.
"""
