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
# Sold by the same Stripe account: one is listed as no business of ours, the other nowhere.
STICKERS = Price(
    identifier("price", "stickers"), identifier("prod", "stickers"), 500, "month",
    "Stickers", "Sticker club",
)
UNKNOWN = Price(
    identifier("price", "unknown"), identifier("prod", "unknown"), 899, "month",
    "Support", "Priority support",
)

CAPS = {"free": 1_000_000, "premium": 30_000_000_000}


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
                    {
                        "provider": "stripe",
                        "product": price.product,
                        "price": price.id,
                        "amount": price.amount,
                        "currency": "usd",
                        "interval": price.interval,
                    }
                    for price in (MONTHLY, YEARLY)
                ],
            }
        ],
        "ignored": [{"provider": "stripe", "product": STICKERS.product}],
        "fallback": None,
    }
