"""All stories of all versions, told."""

from datetime import datetime, timezone

from . import api, changes, reversals  # noqa: F401  they register what they tell
from . import additions, arrangements  # noqa: F401  last, so that the others keep their days
from .stories import TELLINGS
from .story import DAY, MINUTE, Story, months_later

# Days on which a version's first customer buys; each later customer buys a day after.
_FIRST_DAY = {
    api.Y2020: (2026, 1, 5), api.ACACIA: (2026, 2, 3), api.BASIL: (2026, 3, 2),
    api.DAHLIA: (2026, 8, 3), api.ENDIVE: (2026, 11, 2),
}
# Then the next month begins: before the 29th, so that every month has the day.
_PER_MONTH = 22


def stories() -> list[Story]:
    told = []
    for version, (year, month, day) in _FIRST_DAY.items():
        begin = int(datetime(year, month, day, 10, 0, 0, tzinfo=timezone.utc).timestamp())
        for index, telling in enumerate(one for one in TELLINGS if version in one.versions):
            months, days = divmod(index, _PER_MONTH)
            start = months_later(begin, months) + days * (DAY + 7 * MINUTE)
            assert datetime.fromtimestamp(start, timezone.utc).day <= 28
            story = Story(version, telling.name, telling.title, start)
            telling.tell(story)
            told.append(story)
    return told
