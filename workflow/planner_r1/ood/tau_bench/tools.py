"""The 16 tools of the shop, with the benchmark's replies.

Each takes the shop as `data` (the benchmark's name, which it shares with a tool's own arguments) and the arguments that
the agent wrote, of whatever type; the text it returns is what the agent sees. The docstrings are what a made-up shop
tells its agent about them.

Where the benchmark does something unexpected (a difference that is not rounded, a whole number that becomes a float, a
string that is taken as a list of characters), so does this: it shows in the data hash. Nothing is changed by a call
that ends in an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from planner_r1.ood.tau_bench.arithmetic import evaluate
from planner_r1.ood.tau_bench.shop import Record, Shop

TRANSFER = "transfer_to_human_agents"  # ends the episode
REASONS = ("no longer needed", "ordered by mistake")

TOOLS: dict[str, Callable[..., str]] = {}


class Refused(Exception):
    """The shop does not do what it is asked; the message tells why."""


def call(shop: Shop, name: Any, kwargs: Any) -> str:
    """What the agent sees of a call of its own. Changes the shop where the tool does; never raises."""
    try:
        if name not in TOOLS:
            return f"Unknown action {name}"
        return TOOLS[name](data=shop, **kwargs)
    except Exception as fault:  # whatever an agent writes, and Python says to it, is an answer to the agent
        return f"Error: {fault}"


def tool(function: Callable[..., str]) -> Callable[..., str]:
    """Register a tool. Its full name is the benchmark's, for Python writes it into what it says of wrong arguments."""
    name = function.__name__
    function.__module__ = f"tau_bench.envs.retail.tools.{name}"
    function.__qualname__ = "".join(word.capitalize() for word in name.split("_")) + ".invoke"
    TOOLS[name] = function
    return function


@tool
def calculate(data: Shop, expression: str) -> str:
    """Work out an expression of numbers, + - * / and parentheses."""
    return str(round(float(evaluate(expression)), 2))


@tool
def cancel_pending_order(data: Shop, order_id: str, reason: str) -> str:
    """Cancel a pending order and refund it, once the user has agreed. The reason is one of the two allowed ones."""
    order = _order(data, order_id, "pending", "cancelled")
    if reason not in REASONS:
        raise Refused("invalid reason")
    user, refunds = data.users[order["user_id"]], []
    for entry in order["payment_history"]:  # a refund among them is paid back once more
        refunds.append(_entry("refund", entry["amount"], entry["payment_method_id"]))
        user = _credited(user, entry["payment_method_id"], entry["amount"])
    history = order["payment_history"] + refunds
    order = {**order, "status": "cancelled", "cancel_reason": reason, "payment_history": history}
    return _changed(data, order, user)


@tool
def exchange_delivered_order_items(
    data: Shop, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
) -> str:
    """Exchange items of a delivered order, once, for available items of the same products in the same positions.

    The price difference is paid or refunded with the payment method. The user must have agreed to all of it.
    """
    order = _order(data, order_id, "delivered", "exchanged")
    difference = round(_price_difference(data, order, item_ids, new_item_ids), 2)
    method = _payment_method(data, order, payment_method_id)
    if method["source"] == "gift_card" and method["balance"] < difference:
        raise Refused("insufficient gift card balance to pay for the price difference")
    order = {
        **order,
        "status": "exchange requested",
        "exchange_items": sorted(item_ids),
        "exchange_new_items": sorted(new_item_ids),
        "exchange_payment_method_id": payment_method_id,
        "exchange_price_difference": difference,
    }
    return _changed(data, order)


@tool
def find_user_id_by_email(data: Shop, email: str) -> str:
    """Find the id of a user by email."""
    for user_id, user in data.users.items():
        if user["email"].lower() == email.lower():
            return user_id
    raise Refused("user not found")


@tool
def find_user_id_by_name_zip(data: Shop, first_name: str, last_name: str, zip: str) -> str:
    """Find the id of a user by name and zip code."""
    for user_id, user in data.users.items():
        if (
            user["name"]["first_name"].lower() == first_name.lower()
            and user["name"]["last_name"].lower() == last_name.lower()
            and user["address"]["zip"] == zip
        ):
            return user_id
    raise Refused("user not found")


@tool
def get_order_details(data: Shop, order_id: str) -> str:
    """Look up an order: its status, items, address and payments. An order id begins with #."""
    return json.dumps(_order(data, order_id))


@tool
def get_product_details(data: Shop, product_id: str) -> str:
    """Look up a product: its items with their options, prices, and whether they are available."""
    if product_id not in data.products:
        raise Refused("product not found")
    return json.dumps(data.products[product_id])


@tool
def get_user_details(data: Shop, user_id: str) -> str:
    """Look up a user: the address, payment methods and order ids."""
    return json.dumps(_user(data, user_id))


@tool
def list_all_product_types(data: Shop) -> str:
    """List the names and product ids of all products."""
    ids = {product["name"]: product["product_id"] for product in data.products.values()}
    return json.dumps(dict(sorted(ids.items())))


@tool
def modify_pending_order_address(
    data: Shop, order_id: str, address1: str, address2: str, city: str, state: str, country: str, zip: str
) -> str:
    """Change the address of a pending order, once the user has agreed."""
    order = _order(data, order_id, "pending", "modified")
    return _changed(data, {**order, "address": _address(address1, address2, city, state, country, zip)})


@tool
def modify_pending_order_items(
    data: Shop, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
) -> str:
    """Change items of a pending order, once, to available items of the same products in the same positions.

    The price difference is paid or refunded with the payment method. The user must have agreed to all of it.
    """
    order = _order(data, order_id, "pending", "modified")
    difference = _price_difference(data, order, item_ids, new_item_ids)  # not rounded
    method = _payment_method(data, order, payment_method_id)
    if method["source"] == "gift_card" and method["balance"] < difference:
        raise Refused("insufficient gift card balance to pay for the new item")
    entry = _entry("payment" if difference > 0 else "refund", abs(difference), payment_method_id)
    items = list(order["items"])
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        # one after the other: what an earlier pair has made of an item is found by a later one
        at = [item["item_id"] for item in items].index(item_id)
        variant = data.products[items[at]["product_id"]]["variants"][new_item_id]
        items[at] = {**items[at], "item_id": new_item_id, "price": variant["price"], "options": variant["options"]}
    order = {
        **order,
        "items": items,
        "status": "pending (item modified)",
        "payment_history": [*order["payment_history"], entry],
    }
    return _changed(data, order, _credited(data.users[order["user_id"]], payment_method_id, -difference))


@tool
def modify_pending_order_payment(data: Shop, order_id: str, payment_method_id: str) -> str:
    """Pay a pending order with another payment method of the user, and refund the old one. The user must agree."""
    order = _order(data, order_id, "pending", "modified")
    method = _payment_method(data, order, payment_method_id)
    first, *later = order["payment_history"]
    if later or first["transaction_type"] != "payment":
        raise Refused("there should be exactly one payment for a pending order")
    if first["payment_method_id"] == payment_method_id:
        raise Refused("the new payment method should be different from the current one")
    amount = first["amount"]
    if method["source"] == "gift_card" and method["balance"] < amount:
        raise Refused("insufficient gift card balance to pay for the order")
    paid, refunded = _entry("payment", amount, payment_method_id), _entry("refund", amount, first["payment_method_id"])
    user = _credited(data.users[order["user_id"]], payment_method_id, -amount)
    user = _credited(user, first["payment_method_id"], amount)
    return _changed(data, {**order, "payment_history": [first, paid, refunded]}, user)


@tool
def modify_user_address(
    data: Shop, user_id: str, address1: str, address2: str, city: str, state: str, country: str, zip: str
) -> str:
    """Change the default address of a user, once the user has agreed."""
    user = {**_user(data, user_id), "address": _address(address1, address2, city, state, country, zip)}
    reply = json.dumps(user)
    data.change(orders={}, users={user_id: user})
    return reply


@tool
def return_delivered_order_items(data: Shop, order_id: str, item_ids: list[str], payment_method_id: str) -> str:
    """Return items of a delivered order, once the user has agreed.

    The refund goes to the payment method of the order, or to a gift card of the user.
    """
    order = _order(data, order_id, "delivered", "returned")
    method = _payment_method(data, order, payment_method_id)
    if method["source"] != "gift_card" and payment_method_id != order["payment_history"][0]["payment_method_id"]:
        raise Refused("payment method should be either the original payment method or a gift card")
    _check_held(order, item_ids, "some item not found")
    order = {
        **order,
        "status": "return requested",
        "return_items": sorted(item_ids),
        "return_payment_method_id": payment_method_id,
    }
    return _changed(data, order)


@tool
def think(data: Shop, thought: str) -> str:
    """Write down a thought. Nothing is looked up or changed."""
    return ""


@tool
def transfer_to_human_agents(data: Shop, summary: str) -> str:
    """Hand the user over to a human, with a summary, where the request is beyond these tools. Ends the conversation."""
    return "Transfer successful"


def _order(data: Shop, order_id: Any, status: str | None = None, done: str = "") -> Record:
    """An order; with a status, one that is in it, as it must be to have something done to it."""
    if order_id not in data.orders:
        raise Refused("order not found")
    order = data.orders[order_id]
    if status is not None and order["status"] != status:
        raise Refused(f"non-{status} order cannot be {done}")
    return order


def _user(data: Shop, user_id: Any) -> Record:
    if user_id not in data.users:
        raise Refused("user not found")
    return data.users[user_id]


def _payment_method(data: Shop, order: Record, payment_method_id: Any) -> Record:
    """A payment method of the user whose order it is."""
    methods = data.users[order["user_id"]]["payment_methods"]
    if payment_method_id not in methods:
        raise Refused("payment method not found")
    return methods[payment_method_id]


def _check_held(order: Record, item_ids: Any, refusal: str) -> None:
    """Refuse items that the order does not hold, or not so often; `{}` in the refusal stands for the first of them."""
    held = [item["item_id"] for item in order["items"]]
    for item_id in item_ids:
        if item_ids.count(item_id) > held.count(item_id):
            raise Refused(refusal.format(item_id))


def _price_difference(data: Shop, order: Record, item_ids: Any, new_item_ids: Any) -> int | float:
    """What the new items cost more than those of the order whose places they take; 0 (no float) for no items."""
    _check_held(order, item_ids, "{} not found")
    if len(item_ids) != len(new_item_ids):
        raise Refused("the number of items to be exchanged should match")
    items = {item["item_id"]: item for item in reversed(order["items"])}  # the first of equal ones counts
    difference = 0
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        item = items[item_id]
        variants = data.products[item["product_id"]]["variants"]
        if new_item_id not in variants or not variants[new_item_id]["available"]:
            raise Refused(f"new item {new_item_id} not found or available")
        difference += variants[new_item_id]["price"] - item["price"]
    return difference


def _entry(kind: str, amount: int | float, payment_method_id: str) -> Record:
    return {"transaction_type": kind, "amount": amount, "payment_method_id": payment_method_id}


def _credited(user: Record, payment_method_id: str, amount: int | float) -> Record:
    """The user with an amount more on a gift card; any other payment method has no balance here."""
    method = user["payment_methods"][payment_method_id]
    if method["source"] != "gift_card":
        return user
    method = {**method, "balance": round(method["balance"] + amount, 2)}
    return {**user, "payment_methods": {**user["payment_methods"], payment_method_id: method}}


def _address(address1: Any, address2: Any, city: Any, state: Any, country: Any, zip: Any) -> Record:
    parts = {"address1": address1, "address2": address2, "city": city}
    return {**parts, "state": state, "country": country, "zip": zip}


def _changed(data: Shop, order: Record, user: Record | None = None) -> str:
    """Put an order, and its user where that has changed too, into the shop; returns the reply."""
    reply = json.dumps(order)  # first, for it may fail
    data.change(orders={order["order_id"]: order}, users={} if user is None else {order["user_id"]: user})
    return reply
