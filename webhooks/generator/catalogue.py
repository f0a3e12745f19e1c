"""What is sold: the source of catalogue.json and of every price in a payload."""

from typing import NamedTuple

from .api import identifier


class Price(NamedTuple):
    id: str
    product: str
    amount: int
    interval: str
    nickname: str
    title: str


_PREMIUM = identifier("prod", "premium")
MONTHLY = Price(
    identifier("price", "monthly"), _PREMIUM, 299, "month", "Premium monthly", "Coffer Premium"
)
YEARLY = Price(
    identifier("price", "yearly"), _PREMIUM, 3000, "year", "Premium yearly", "Coffer Premium"
)
# Comes on top of a plan.
EXTRA = Price(
    identifier("price", "extra"), identifier("prod", "extra"), 99, "month", "Extra monthly",
    "Coffer Extra",
)
EXTRA_BYTES = 2_000_000_000
# Sold by the same Stripe account: one is listed as no business of ours, the other nowhere.
STICKERS = Price(
    identifier("price", "stickers"), identifier("prod", "stickers"), 500, "month",
    "Stickers", "Sticker club",
)
UNKNOWN = Price(
    identifier("price", "unknown"), identifier("prod", "unknown"), 899, "month",
    "Support", "Priority support",
)

CAPS = {"free": 1_000_000, "premium": 30_000_000_000, "plus": 200_000_000_000}


def _row(provider: str, product: str, price: str | None, amount: int, interval: str) -> dict:
    row = {"provider": provider, "product": product, "price": price, "amount": amount,
           "currency": "usd", "interval": interval}
    return {name: value for name, value in row.items() if value is not None}


# What Tests/Fakes/ProviderFakes sells besides.
_APPLE = "com.example.coffer"
_FAKES = {
    "premium": [
        _row("apple", f"{_APPLE}.premium.monthly", None, 299, "month"),
        _row("apple", f"{_APPLE}.premium.yearly", None, 3000, "year"),
        _row("google", "premium", "premium:monthly", 299, "month"),
        _row("google", "premium", "premium:yearly", 3000, "year"),
    ],
    "plus": [
        _row("stripe", "prod_Rk2vPlusXq81Bd", "price_1Hq7tdLk4QzTmRvXcE0wPl5m", 999, "month"),
        _row("apple", f"{_APPLE}.plus.monthly", None, 999, "month"),
        _row("google", "plus", "plus:monthly", 999, "month"),
    ],
}


def catalogue() -> dict:
    return {
        "version": "fixtures-1",
        "metadata_fee_bytes": 1000,
        "free": {"id": "free", "title": "Free", "bytes": CAPS["free"]},
        "plans": [
            {
                "id": "premium",
                "title": "Premium",
                "bytes": CAPS["premium"],
                "products": [
                    _row("stripe", price.product, price.id, price.amount, price.interval)
                    for price in (MONTHLY, YEARLY)
                ] + _FAKES["premium"],
            },
            {
                "id": "plus",
                "title": "Plus",
                "bytes": CAPS["plus"],
                "products": _FAKES["plus"],
            },
            {
                "id": "extra",
                "title": "Extra",
                "bytes": EXTRA_BYTES,
                "adds": True,
                "products": [
                    _row("stripe", EXTRA.product, EXTRA.id, EXTRA.amount, EXTRA.interval),
                    _row(
                        "stripe", "prod_Ex2gExtraBlk7Qw", "price_1Ex2gBLk4QzTmRvXcE0wEx2g", 99,
                        "month"),
                ],
            },
        ],
        "ignored": [
            {"provider": "stripe", "product": STICKERS.product},
            {"provider": "apple", "product": f"{_APPLE}.stickers.monthly"},
            {"provider": "google", "product": "stickers"},
        ],
        "fallback": None,
    }
