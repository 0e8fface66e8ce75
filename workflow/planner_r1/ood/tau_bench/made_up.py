"""A made-up shop in the layout of tau-bench's retail data: a few users, orders and products, and tasks with answers.

Six kinds of tasks take turns, one for each way to change an order. Every task has a user of its own, and its
instruction says all that its actions need.
"""

from __future__ import annotations

import inspect
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

from planner_r1.errors import InputError
from planner_r1.ood.tau_bench.data import POLICY, TASKS, TOOL_SCHEMAS
from planner_r1.ood.tau_bench.tools import REASONS, TOOLS
from planner_r1.sandbox.names import CITIES, STATES, STREETS

FIRST_NAMES = "Ada Ben Cleo Dan Eva Finn Gia Hugo Ida Jon Kim Leo Mia Ned Ola Pia Quin Rosa Sam Tess".split()
LAST_NAMES = "Abel Bauer Cole Dietz Egan Falk Grau Holm Imhof Jung Kern Lang Moor Nagel Orr Pohl Quast Rhys".split()
PRODUCTS = "Lamp Kettle Backpack Bottle Clock Blanket Umbrella Notebook".split()
STATUSES = ("pending", "delivered")
OPTIONS = {"color": ("red", "blue", "green"), "size": ("small", "large")}

POLICY_TEXT = """# Policy of the shop

You help users with their orders. Find the user first, by email or by name and zip code, even where an id is given.
Help this user alone.

- Look an order up before you change it. Say what you are going to change, and wait for the user's yes.
- A pending order can be cancelled ("no longer needed" or "ordered by mistake"), and its address, items and payment
  method can be changed. Items can be changed once, to available ones of the same product, and nothing afterwards.
- Items of a delivered order can be returned, or exchanged for available items of the same product, once.
- A refund goes to the payment method of the order or to a gift card. A gift card must hold what is paid with it.
- Call one tool at a time, and do not talk to the user in the same turn.
- Transfer the user to a human only where these tools cannot help.
"""


@dataclass(frozen=True)
class ShopSpec:
    """How large a shop is: the number of tasks. Each has a user of its own, with a pending and a delivered order."""

    seed: int = 0
    tasks: int = 6


@dataclass(frozen=True)
class Customer:
    """A user and what belongs to it, as records of the shop."""

    id: str
    user: dict
    pending: dict
    delivered: dict

    @property
    def gift_card(self) -> str:
        return next(id for id, method in self.user["payment_methods"].items() if method["source"] == "gift_card")


def write_shop(spec: ShopSpec, out: str | Path) -> None:
    """Write a shop's files into the folder `out`, all tasks in the split "test". The same spec gives the same bytes.

    Raises:
        InputError: the spec asks for something that cannot be made, or the folder cannot be written.
    """
    most = len(FIRST_NAMES) * len(LAST_NAMES)
    if not 1 <= spec.tasks <= most:
        raise InputError(f"shop: 'tasks' must lie between 1 and {most}, found {spec.tasks}")
    rng = random.Random(spec.seed)
    products = {made["product_id"]: made for made in (_product(name, rng) for name in PRODUCTS)}
    names = rng.sample(list(product(FIRST_NAMES, LAST_NAMES)), spec.tasks)
    customers = [_customer(number, name, products, rng) for number, name in enumerate(names)]
    orders = [order for customer in customers for order in (customer.pending, customer.delivered)]
    files = {
        "users.json": {customer.id: customer.user for customer in customers},
        "orders.json": {order["order_id"]: order for order in orders},
        "products.json": products,
        TASKS.format("test"): [
            _task(customer, KINDS[number % len(KINDS)], products, rng) for number, customer in enumerate(customers)
        ],
        TOOL_SCHEMAS: [_schema(name, tool) for name, tool in sorted(TOOLS.items())],
    }
    texts = {name: json.dumps(content, indent=1) + "\n" for name, content in files.items()} | {POLICY: POLICY_TEXT}
    out = Path(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (out / name).write_text(text, encoding="utf-8")
    except OSError as fault:
        raise InputError(f"{out}: cannot be written ({fault.strerror}); name a folder for the shop") from None


# --- the shop --------------------------------------------------------------------------------------------------------


def _product(name: str, rng: random.Random) -> dict:
    """A product with an item for each choice of options, all but one of them available."""
    number, price = 10 * (1 + PRODUCTS.index(name)), rng.randrange(10, 100)
    variants = {}
    for at, options in enumerate(product(*OPTIONS.values())):
        item_id = f"{1_000 + number + at}"
        variants[item_id] = {
            "item_id": item_id,
            "options": dict(zip(OPTIONS, options, strict=True)),
            "available": True,
            "price": round(price + rng.randrange(0, 1_000) / 100, 2),
        }
    rng.choice(list(variants.values()))["available"] = False
    return {"name": name, "product_id": str(number), "variants": variants}


def _customer(number: int, name: tuple[str, str], products: dict, rng: random.Random) -> Customer:
    first, last = name
    user_id = f"{first}_{last}_{number}".lower()
    card, gift_card = f"credit_card_{number}", f"gift_card_{number}"
    orders = [_order(2 * number + i, status, user_id, card, products, rng) for i, status in enumerate(STATUSES)]
    user = {
        "name": {"first_name": first, "last_name": last},
        "address": orders[0]["address"],
        "email": f"{first}.{last}@example.com".lower(),
        "payment_methods": {
            card: {"source": "credit_card", "brand": "visa", "last_four": f"{1_000 + number}", "id": card},
            gift_card: {"source": "gift_card", "balance": 500, "id": gift_card},
        },
        "orders": [order["order_id"] for order in orders],
    }
    return Customer(user_id, user, *orders)


def _order(number: int, status: str, user_id: str, card: str, products: dict, rng: random.Random) -> dict:
    """An order of two products, paid with a card."""
    items = [_item(made, rng) for made in rng.sample(list(products.values()), 2)]
    item_ids = [item["item_id"] for item in items]
    amount = round(sum(item["price"] for item in items), 2)
    return {
        "order_id": f"#W{100 + number}",
        "user_id": user_id,
        "address": _address(rng),
        "items": items,
        "fulfillments": [{"tracking_id": [f"{5_000 + number}"], "item_ids": item_ids}] if status == "delivered" else [],
        "status": status,
        "payment_history": [{"transaction_type": "payment", "amount": amount, "payment_method_id": card}],
    }


def _item(made: dict, rng: random.Random) -> dict:
    variant = rng.choice(_available(made))
    ids = {"name": made["name"], "product_id": made["product_id"], "item_id": variant["item_id"]}
    return {**ids, "price": variant["price"], "options": variant["options"]}


def _available(made: dict) -> list[dict]:
    return [variant for variant in made["variants"].values() if variant["available"]]


def _address(rng: random.Random) -> dict:
    return {
        "address1": f"{rng.randrange(1, 100)} {rng.choice(STREETS)}",
        "address2": f"Suite {rng.randrange(1, 100)}",
        "city": rng.choice(CITIES),
        "country": "USA",
        "state": rng.choice(STATES),
        "zip": str(rng.randrange(10_000, 100_000)),
    }


# --- the tasks: what the user wants, in words, and the call that does it ---------------------------------------------


def _cancel(customer: Customer, products: dict, rng: random.Random) -> tuple[str, str, dict]:
    order_id, reason = customer.pending["order_id"], rng.choice(REASONS)
    words = f"You want to cancel your order {order_id}, for this reason: {reason}."
    return words, "cancel_pending_order", {"order_id": order_id, "reason": reason}


def _move(customer: Customer, products: dict, rng: random.Random) -> tuple[str, str, dict]:
    order_id, address = customer.pending["order_id"], _address(rng)
    words = f"You want your order {order_id} sent to another address: {', '.join(address.values())}."
    return words, "modify_pending_order_address", {"order_id": order_id, **address}


def _pay_otherwise(customer: Customer, products: dict, rng: random.Random) -> tuple[str, str, dict]:
    order_id = customer.pending["order_id"]
    words = f"You want to pay your order {order_id} with your gift card {customer.gift_card} instead."
    return words, "modify_pending_order_payment", {"order_id": order_id, "payment_method_id": customer.gift_card}


def _change_item(customer: Customer, products: dict, rng: random.Random) -> tuple[str, str, dict]:
    words, kwargs = _other_item(customer, customer.pending, products, rng)
    return f"You want to change {words}", "modify_pending_order_items", kwargs


def _exchange(customer: Customer, products: dict, rng: random.Random) -> tuple[str, str, dict]:
    words, kwargs = _other_item(customer, customer.delivered, products, rng)
    return f"You want to exchange {words}", "exchange_delivered_order_items", kwargs


def _other_item(customer: Customer, order: dict, products: dict, rng: random.Random) -> tuple[str, dict]:
    """One item of an order for an available one of the same product, the difference on the gift card."""
    old = rng.choice(order["items"])
    others = [v for v in _available(products[old["product_id"]]) if v["item_id"] != old["item_id"]]
    new, order_id = rng.choice(others), order["order_id"]
    wish = " ".join(new["options"].values())
    words = f"the {old['name']} of your order {order_id} for a {wish} one, with your gift card {customer.gift_card}."
    item_ids, new_item_ids = [old["item_id"]], [new["item_id"]]
    ids = {"order_id": order_id, "item_ids": item_ids, "new_item_ids": new_item_ids}
    return words, {**ids, "payment_method_id": customer.gift_card}


def _send_back(customer: Customer, products: dict, rng: random.Random) -> tuple[str, str, dict]:
    order_id, item = customer.delivered["order_id"], rng.choice(customer.delivered["items"])
    words = f"You want to return the {item['name']} of your order {order_id}, refunded to {customer.gift_card}."
    kwargs = {"order_id": order_id, "item_ids": [item["item_id"]], "payment_method_id": customer.gift_card}
    return words, "return_delivered_order_items", kwargs


Kind = Callable[[Customer, dict, random.Random], tuple[str, str, dict]]
KINDS: tuple[Kind, ...] = (_cancel, _move, _send_back, _change_item, _exchange, _pay_otherwise)


def _task(customer: Customer, kind: Kind, products: dict, rng: random.Random) -> dict:
    name, address = customer.user["name"], customer.user["address"]
    words, tool, kwargs = kind(customer, products, rng)
    reads = [
        {"name": "find_user_id_by_name_zip", "kwargs": {**name, "zip": address["zip"]}},
        {"name": "get_order_details", "kwargs": {"order_id": kwargs["order_id"]}},
    ]
    return {
        "annotator": "made up",
        "user_id": customer.id,
        "instruction": f"You are {name['first_name']} {name['last_name']}, your zip code is {address['zip']}. {words}",
        "actions": [*reads, {"name": tool, "kwargs": kwargs}],
        "outputs": [],
    }


# --- the tools -------------------------------------------------------------------------------------------------------


def _schema(name: str, tool: Callable) -> dict:
    """What a model is told of a tool: its docstring, and its arguments, which are texts or lists of texts."""
    arguments = list(islice(inspect.signature(tool).parameters.values(), 1, None))  # the first is the shop
    parameters = {
        "type": "object",
        "properties": {argument.name: _argument(argument) for argument in arguments},
        "required": [argument.name for argument in arguments],
    }
    function = {"name": name, "description": inspect.getdoc(tool), "parameters": parameters}
    return {"type": "function", "function": function}


def _argument(argument: inspect.Parameter) -> dict:
    if argument.name == "reason":
        return {"type": "string", "enum": list(REASONS)}
    if argument.annotation == "list[str]":
        return {"type": "array", "items": {"type": "string"}}
    return {"type": "string"}
