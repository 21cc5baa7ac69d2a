"""Judges facts by the package's rules and those of one's own, read when they are first needed."""

from __future__ import annotations

from functools import cached_property

from .classification import Classifier, load_classifier


class Judge:
    """Has the classifier. Safe to use from several threads.

    Raises:
        InvalidFieldError: a file of one's own cannot be used.
    """

    def __init__(self, rules_file: str, taxonomy_file: str) -> None:
        self._files = (rules_file, taxonomy_file)
        if any(self._files):
            self.warm_up()

    @cached_property
    def classifier(self) -> Classifier:
        """Rules and taxonomy; a program that only asks does not pay for them."""
        return load_classifier(*self._files)

    def warm_up(self) -> None:
        """Reads the rules, so that the first fact is as quick as the next."""
        _ = self.classifier
