"""Fields of HTML forms in the bodies of requests."""

from __future__ import annotations

from urllib.parse import parse_qsl

from gossamer.errors import UsageError

MAX_FIELDS = 20  # of a form; the largest has a handful


def form_fields(body: bytes) -> dict[str, str]:
    """Return the fields of a form by name."""
    try:
        return dict(parse_qsl(body.decode("utf-8", "replace"), max_num_fields=MAX_FIELDS))
    except ValueError as error:  # raised for too many fields only
        raise UsageError(f"The form has more than {MAX_FIELDS} fields.") from error
