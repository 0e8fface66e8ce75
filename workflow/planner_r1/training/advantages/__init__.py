"""Advantage rules, one a module; README.md beside this file says how to add one."""
