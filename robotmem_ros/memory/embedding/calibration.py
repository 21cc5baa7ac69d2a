"""Read the cosines of the default model, all-MiniLM-L6-v2, for which these numbers were fitted.

Other models are read by the same numbers, although the cosines of each have a range of their own.
`python3 -m bench relevance --model` fits the curve for another one.
"""

from __future__ import annotations

SIMILAR_COSINE = 0.85
"""Cosine from which two facts are similar."""
COSINE_WEIGHT, SHARE_WEIGHT, BIAS = 7.3, 3.1, -4.1
"""The curve of relevance, see `search/scoring.py`: a logistic regression on a cosine, and a share of words cubed."""
UNKNOWN_DISCOUNT = 0.035
"""By how much less a cosine counts if no memory contains a word of the query."""
