"""The out-of-domain suites: NaturalPlan, Multi-IF and tau-bench, scored as their authors score them."""
