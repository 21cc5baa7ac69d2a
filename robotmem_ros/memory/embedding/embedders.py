"""Embed queries by the model whose vectors the database has, while those of the configured model are made."""

from __future__ import annotations

from .embedder import BackgroundEmbedder


class Embedders:
    """The model whose vectors a database shall have, and the one whose vectors it has until then.

    Args:
        configured: The model that the parameters name.
        former: Another one, whose vectors answer until those of the configured one are complete; None if there is none.
    """

    def __init__(self, configured: BackgroundEmbedder, former: BackgroundEmbedder | None = None) -> None:
        self.configured = configured
        self.former = former

    @property
    def current(self) -> BackgroundEmbedder:
        """Return the one for the vectors that the database has, as far as is known."""
        return self.former or self.configured

    def of(self, model: str | None) -> BackgroundEmbedder:
        """Return the one for the vectors of a model; the configured one if neither is."""
        former = self.former
        return former if former is not None and former.name == model else self.configured

    def wait(self) -> bool:
        """Wait until all are loaded or cannot be; return whether the one for the vectors of the database is."""
        self.configured.wait()
        return self.current.wait()

    def release_former(self) -> None:
        """Release the former model, once the vectors are those of the configured one."""
        former, self.former = self.former, None
        if former is not None:
            former.close()

    def close(self) -> None:
        """Release all models."""
        self.release_former()
        self.configured.close()
