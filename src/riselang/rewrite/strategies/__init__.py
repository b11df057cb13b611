"""Schedules, which are loop transformations as strategies; and strategies for whole programs.

Read `schedules.py` first (tile, interchange, vectorize and others), then `matmul.py`.
"""
