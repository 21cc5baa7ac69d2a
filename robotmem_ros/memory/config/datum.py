"""Place the memory frame on Earth, so that latitudes and longitudes are positions in it."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from ..errors import InvalidFieldError

_SEMI_MAJOR = 6_378_137.0
"""Metres; this and the flattening are those of WGS 84."""
_FLATTENING = 1.0 / 298.257223563
_ECCENTRICITY_SQUARED = _FLATTENING * (2.0 - _FLATTENING)
_LIMITS = (90.0, 180.0, 1e6, 2.0 * math.pi)
"""Largest absolute values; NaN is above them."""
_RIGHT = "must be `latitude, longitude` in degrees, such as `48.137, 11.575`, then maybe altitude in m and yaw in rad"


class Datum(NamedTuple):
    """A point on Earth that is the origin of the memory frame."""

    latitude: float
    """Degrees."""
    longitude: float
    """Degrees."""
    altitude: float | None
    """Metres above the ellipsoid; None leaves all positions at the height of the origin."""
    yaw: float
    """Angle of the x axis of the memory frame, counterclockwise from east, in radians."""

    def east_north_up(self, latitude: float, longitude: float, altitude: float) -> tuple[float, float, float]:
        """Return metres to the east, the north and up of the datum, on the plane that touches the Earth there.

        Without an altitude, of the datum or the point (NaN), the point is at the height of the datum.
        """
        own = self.altitude or 0.0
        is_flat = self.altitude is None or not math.isfinite(altitude)
        x, y, z = (
            there - here
            for there, here in zip(
                _earth_centred(latitude, longitude, own if is_flat else altitude),
                _earth_centred(self.latitude, self.longitude, own),
                strict=True,
            )
        )
        phi, lam = math.radians(self.latitude), math.radians(self.longitude)
        outwards = math.cos(lam) * x + math.sin(lam) * y
        east = -math.sin(lam) * x + math.cos(lam) * y
        north = -math.sin(phi) * outwards + math.cos(phi) * z
        up = math.cos(phi) * outwards + math.sin(phi) * z
        return east, north, 0.0 if is_flat else up


def _earth_centred(latitude: float, longitude: float, altitude: float) -> tuple[float, float, float]:
    phi, lam = math.radians(latitude), math.radians(longitude)
    radius = _SEMI_MAJOR / math.sqrt(1.0 - _ECCENTRICITY_SQUARED * math.sin(phi) ** 2)
    flat = (radius + altitude) * math.cos(phi)
    height = (radius * (1.0 - _ECCENTRICITY_SQUARED) + altitude) * math.sin(phi)
    return flat * math.cos(lam), flat * math.sin(lam), height


@lru_cache(maxsize=8)
def parse_datum(text: str) -> Datum | None:
    """Parse the parameter `datum`; None if it is empty.

    Raises:
        InvalidFieldError: it is no such text, or a number lies outside its range.
    """
    if not text.strip():
        return None
    try:
        parts = [float(part) for part in text.split(",")]
    except ValueError:
        parts = []
    is_right = len(parts) in {2, 3, 4} and all(abs(part) <= most for part, most in zip(parts, _LIMITS, strict=False))
    if not is_right:
        raise InvalidFieldError("datum", text, _RIGHT)
    latitude, longitude, *rest = parts
    return Datum(latitude, longitude, rest[0] if rest else None, rest[1] if len(rest) > 1 else 0.0)
