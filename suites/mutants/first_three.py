"""The operators that a mutant without an operator of its own is wrong on, and that permitted implementations make."""

FIRST_THREE = ("ELEMENT_WISE_CLIP", "ELEMENT_WISE_ROUND", "ELEMENT_WISE_THRESHOLD")
