"""Consolidation: the lessons of a session that say the same become one that stands for the others.

lessons -> by category and what tells them apart -> clusters -> the best of each stays, the others are superseded
"""
