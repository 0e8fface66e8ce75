"""The tools of the shop: what they change, by hand-worked examples, and that nothing an agent writes can break them."""

import copy
import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner_r1.ood.tau_bench.shop import Shop
from planner_r1.ood.tau_bench.tools import TOOLS, call

EXCHANGE = "exchange_delivered_order_items"
ADDRESS = {
    "address1": "1 Elm Road",
    "address2": "",
    "city": "Ashdale",
    "country": "USA",
    "state": "Albia",
    "zip": "10001",
}
MOVED = {
    "address1": "2 Oak Road",
    "address2": "Suite 1",
    "city": "Oakton",
    "state": "Belia",
    "country": "USA",
    "zip": "2",
}


def variant(item_id, price, available=True, **options):
    return {"item_id": item_id, "options": options, "available": available, "price": price}


def item(name, product_id, item_id, price, **options):
    return {"name": name, "product_id": product_id, "item_id": item_id, "price": price, "options": options}


def order(order_id, status, items, method="card"):
    amount = round(sum(one["price"] for one in items), 2)
    return {
        "order_id": order_id,
        "user_id": "ada",
        "address": ADDRESS,
        "items": items,
        "fulfillments": [],
        "status": status,
        "payment_history": [{"transaction_type": "payment", "amount": amount, "payment_method_id": method}],
    }


RED = item("Lamp", "L", "red", 10.1, color="red")
BLUE = item("Lamp", "L", "blue", 20.2, color="blue")
KETTLE = item("Kettle", "K", "small", 5.5, size="small")
PRODUCTS = {
    "L": {
        "name": "Lamp",
        "product_id": "L",
        "variants": {
            "red": variant("red", 10.1, color="red"),
            "blue": variant("blue", 20.2, color="blue"),
            "green": variant("green", 30.4, color="green"),
            "gone": variant("gone", 1.0, available=False, color="white"),
        },
    },
    "K": {"name": "Kettle", "product_id": "K", "variants": {"small": variant("small", 5.5, size="small")}},
}
USERS = {
    "ada": {
        "name": {"first_name": "Ada", "last_name": "Holm"},
        "address": ADDRESS,
        "email": "ada@example.com",
        "payment_methods": {
            "card": {"source": "credit_card", "brand": "visa", "last_four": "1234", "id": "card"},
            "other card": {"source": "credit_card", "brand": "visa", "last_four": "4321", "id": "other card"},
            "gift": {"source": "gift_card", "balance": 15, "id": "gift"},
        },
        "orders": ["#P", "#G", "#D"],
    }
}
ORDERS = {
    "#P": order("#P", "pending", [RED, BLUE, KETTLE]),
    "#G": order("#G", "pending", [RED], "gift"),
    "#D": order("#D", "delivered", [RED, RED, KETTLE]),
}


@pytest.fixture
def shop():
    return Shop(copy.deepcopy(ORDERS), PRODUCTS, copy.deepcopy(USERS))


def balance(shop):
    return shop.users["ada"]["payment_methods"]["gift"]["balance"]


def entry(kind, amount, method):
    return {"transaction_type": kind, "amount": amount, "payment_method_id": method}


def contents(shop):
    return json.dumps([shop.orders, shop.products, shop.users])


# --- the data hash ---------------------------------------------------------------------------------------------------


def as_tuples(value):
    if isinstance(value, dict):
        return tuple((key, as_tuples(value[key])) for key in sorted(value))
    return tuple(as_tuples(one) for one in value) if isinstance(value, list) else value


def hash_from_scratch(shop):
    data = {"orders": shop.orders, "products": shop.products, "users": shop.users}
    return hashlib.sha256(str(as_tuples(data)).encode("utf-8")).hexdigest()


def test_the_hash_is_that_of_all_records_as_sorted_tuples(shop):
    assert shop.hash() == hash_from_scratch(shop)
    call(shop, "modify_user_address", {"user_id": "ada", **MOVED, "address2": "Ünï 'x' \ud800"})
    assert shop.hash() == hash_from_scratch(shop)


def test_the_hash_knows_nothing_of_the_order_of_keys_but_tells_a_whole_number_from_a_float(shop):
    first = shop.hash()
    call(shop, "modify_user_address", {"user_id": "ada", **ADDRESS})
    assert list(shop.users["ada"]["address"]) != list(ADDRESS) and shop.hash() == first
    call(shop, "modify_user_address", {"user_id": "ada", **ADDRESS, "zip": 1})
    whole = shop.hash()
    call(shop, "modify_user_address", {"user_id": "ada", **ADDRESS, "zip": 1.0})
    assert shop.hash() != whole


def test_a_copy_does_not_change_what_it_was_made_of(shop):
    before, first = contents(shop), shop.hash()
    other = shop.copy()
    call(other, "cancel_pending_order", {"order_id": "#G", "reason": "ordered by mistake"})
    assert (contents(shop), shop.hash()) == (before, first)
    assert other.hash() != first


# --- what the tools do -----------------------------------------------------------------------------------------------


def test_cancelling_refunds_a_gift_card_at_once(shop):
    reply = json.loads(call(shop, "cancel_pending_order", {"order_id": "#G", "reason": "no longer needed"}))
    assert reply == shop.orders["#G"]
    assert (reply["status"], reply["cancel_reason"]) == ("cancelled", "no longer needed")
    assert reply["payment_history"] == [entry("payment", 10.1, "gift"), entry("refund", 10.1, "gift")]
    assert balance(shop) == 25.1


def test_cancelling_after_a_change_of_payment_refunds_each_entry(shop):
    call(shop, "modify_pending_order_payment", {"order_id": "#G", "payment_method_id": "card"})
    assert balance(shop) == 25.1
    assert len(shop.orders["#G"]["payment_history"]) == 3
    call(shop, "cancel_pending_order", {"order_id": "#G", "reason": "no longer needed"})
    refunds = shop.orders["#G"]["payment_history"][3:]
    assert refunds == [entry("refund", 10.1, method) for method in ("gift", "card", "gift")]
    assert balance(shop) == 45.3


def test_changing_the_payment_needs_another_method_with_enough_on_it_and_works_once(shop):
    def change(order_id, method):
        return call(shop, "modify_pending_order_payment", {"order_id": order_id, "payment_method_id": method})

    assert change("#P", "card") == "Error: the new payment method should be different from the current one"
    assert change("#P", "gift") == "Error: insufficient gift card balance to pay for the order"
    assert change("#P", "none") == "Error: payment method not found"
    assert json.loads(change("#P", "other card"))["status"] == "pending"
    assert change("#P", "card") == "Error: there should be exactly one payment for a pending order"


def change_items(shop, item_ids, new_item_ids, method="card", tool="modify_pending_order_items", order_id="#P"):
    kwargs = {"order_id": order_id, "item_ids": item_ids, "new_item_ids": new_item_ids, "payment_method_id": method}
    return call(shop, tool, kwargs)


def test_changed_items_are_paid_for_without_rounding(shop):
    reply = json.loads(change_items(shop, ["red", "blue"], ["blue", "green"]))
    assert [(one["item_id"], one["price"]) for one in reply["items"]] == [
        ("green", 30.4),  # the second pair finds what the first has made of the first lamp
        ("blue", 20.2),
        ("small", 5.5),
    ]
    assert reply["payment_history"][-1] == entry("payment", (20.2 - 10.1) + (30.4 - 20.2), "card")
    assert reply["status"] == "pending (item modified)"
    assert change_items(shop, ["blue"], ["red"]) == "Error: non-pending order cannot be modified"


def test_a_difference_on_a_gift_card_is_rounded_there_and_makes_a_float_of_its_balance(shop):
    change_items(shop, ["red"], ["red"], "gift")
    assert repr(balance(shop)) == "15.0"
    assert shop.orders["#P"]["payment_history"][-1] == entry("refund", 0.0, "gift")


def test_no_items_at_all_are_changed_for_a_whole_0(shop):
    assert repr(json.loads(change_items(shop, [], []))["payment_history"][-1]["amount"]) == "0"


def test_cheaper_items_are_refunded(shop):
    reply = json.loads(change_items(shop, ["blue"], ["red"], "gift"))
    assert reply["payment_history"][-1] == entry("refund", 20.2 - 10.1, "gift")
    assert balance(shop) == 25.1


def test_exchanged_items_are_noted_sorted_and_their_difference_rounded(shop):
    reply = json.loads(change_items(shop, ["small", "red", "red"], ["small", "green", "blue"], "card", EXCHANGE, "#D"))
    assert reply["items"] == ORDERS["#D"]["items"] and reply["status"] == "exchange requested"
    assert (reply["exchange_items"], reply["exchange_new_items"]) == (
        ["red", "red", "small"],
        ["blue", "green", "small"],
    )
    assert reply["exchange_price_difference"] == 30.4
    assert reply["exchange_payment_method_id"] == "card"
    assert balance(shop) == 15


@pytest.mark.parametrize("tool, order_id", [("modify_pending_order_items", "#P"), (EXCHANGE, "#D")])
@pytest.mark.parametrize(
    "item_ids, new_item_ids, error",
    [
        (["red", "red", "red"], ["blue", "blue", "blue"], "red not found"),
        (["none"], ["blue"], "none not found"),
        ([None], ["blue"], "None not found"),
        ("red", "red", "r not found"),
        (["red"], [], "the number of items to be exchanged should match"),
        (["red"], ["gone"], "new item gone not found or available"),
        (["small"], ["red"], "new item red not found or available"),
        (5, ["red"], "'int' object is not iterable"),
    ],
)
def test_items_that_cannot_be_changed(shop, tool, order_id, item_ids, new_item_ids, error):
    before = contents(shop)
    assert change_items(shop, item_ids, new_item_ids, "card", tool, order_id) == f"Error: {error}"
    assert contents(shop) == before


def test_returned_items_are_refunded_to_the_card_of_the_order_or_a_gift_card(shop):
    def give_back(items, method):
        kwargs = {"order_id": "#D", "item_ids": items, "payment_method_id": method}
        return call(shop, "return_delivered_order_items", kwargs)

    refused = "Error: payment method should be either the original payment method or a gift card"
    assert give_back(["red"], "other card") == refused
    assert give_back(["red", "blue"], "gift") == "Error: some item not found"
    reply = json.loads(give_back(["small", "red"], "gift"))
    assert (reply["status"], reply["return_items"]) == ("return requested", ["red", "small"])
    assert balance(shop) == 15
    assert give_back(["red"], "gift") == "Error: non-delivered order cannot be returned"


def test_reading(shop):
    assert call(shop, "find_user_id_by_email", {"email": "ADA@example.com"}) == "ada"
    name = {"first_name": "aDA", "last_name": "HOLM"}
    assert call(shop, "find_user_id_by_name_zip", {**name, "zip": "10001"}) == "ada"
    assert call(shop, "find_user_id_by_name_zip", {**name, "zip": 10001}) == "Error: user not found"
    assert json.loads(call(shop, "get_product_details", {"product_id": "L"})) == PRODUCTS["L"]
    assert json.loads(call(shop, "list_all_product_types", {})) == {"Kettle": "K", "Lamp": "L"}
    assert call(shop, "get_order_details", {"order_id": "P"}) == "Error: order not found"
    assert call(shop, "think", {"thought": "hm"}) == ""
    assert call(shop, "transfer_to_human_agents", {"summary": "too hard"}) == "Transfer successful"
    assert call(shop, "give_discount", {}) == "Unknown action give_discount"


# --- whatever an agent writes ----------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    ["#P", "#G", "#D", "ada", "card", "gift", "red", "blue", "green", "small", "no longer needed", ""]
)
JSON = st.recursive(
    WORDS | st.text(max_size=5) | st.none() | st.booleans() | st.integers() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | WORDS, inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(
    "order_id item_ids new_item_ids payment_method_id reason user_id product_id email first_name last_name zip "
    "address1 address2 city state country expression thought summary data".split()
)
CALLS = st.tuples(st.sampled_from([*TOOLS]) | JSON, st.dictionaries(NAMES, JSON, max_size=9) | JSON)


@st.composite
def complete_calls(draw):
    """A tool with all of its arguments, of whatever type."""
    name = draw(st.sampled_from([*TOOLS]))
    code = TOOLS[name].__code__
    return name, {argument: draw(WORDS | JSON) for argument in code.co_varnames[1 : code.co_argcount]}


@given(st.lists(CALLS | complete_calls(), max_size=4))
@settings(max_examples=400, deadline=None)
def test_no_call_raises_and_one_that_fails_changes_nothing(calls):
    shop = Shop(ORDERS, PRODUCTS, USERS).copy()
    for name, kwargs in calls:
        before, first = contents(shop), shop.hash()
        reply = call(shop, name, kwargs)
        assert isinstance(reply, str)
        if reply.startswith(("Error: ", "Unknown action ")):
            assert (contents(shop), shop.hash()) == (before, first)
        assert shop.hash() == hash_from_scratch(shop)


@pytest.mark.parametrize("depth", range(50, 1_500, 50))
def test_arguments_nested_too_deeply_are_an_error_that_changes_nothing(shop, depth):
    before, first, nested = shop.orders["#P"], shop.hash(), []
    for _ in range(depth):
        nested = [nested]
    reply = call(shop, "modify_pending_order_address", {"order_id": "#P", **MOVED, "city": nested})
    if reply.startswith("Error"):
        assert shop.orders["#P"] is before and shop.hash() == first
    else:
        assert shop.orders["#P"]["address"]["city"] is nested and shop.hash() != first


# --- arithmetic ------------------------------------------------------------------------------------------------------

NUMBERS = st.integers(0, 10_000) | st.floats(0, 10_000, allow_nan=False).map(lambda x: round(x, 2))


def combined(children):
    """An expression in full parentheses and its value, from two of the same."""

    def join(pair):
        (a, x), (b, y), op = pair
        value = {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y}[op]
        return f"({a} {op} {b})", value()

    return st.tuples(children, children, st.sampled_from("+-*")).map(join)


EXPRESSIONS = st.recursive(NUMBERS.map(lambda x: (f"{x:.2f}", float(f"{x:.2f}"))), combined, max_leaves=8)


@given(EXPRESSIONS)
@settings(deadline=None)
def test_an_expression_has_the_value_of_its_tree_rounded(expression):
    text, value = expression
    assert call(Shop({}, {}, {}), "calculate", {"expression": text}) == str(round(value, 2))


@given(st.text("0123456789+-*/(). ", max_size=40))
@settings(max_examples=500, deadline=None)
def test_whatever_is_calculated_gives_a_number_or_an_error(text):
    reply = call(Shop({}, {}, {}), "calculate", {"expression": text})
    assert reply.startswith("Error: ") or isinstance(float(reply), float)


@pytest.mark.parametrize(
    "expression, reply",
    [
        (" 2 + 2 ", "4.0"),
        ("1.005", "1.0"),
        ("-0.001", "-0.0"),
        ("7 // 2", "3.0"),
        ("2 ** -100000", "0.0"),
        ("10**308 * 10.0", "inf"),
        ("10**400 // 10**399", "10.0"),
        ("10**400", "Error: int too large to convert to float"),
        ("9**9**9", "Error: int too large to convert to float"),
        ("(9**999)**999", "Error: int too large to convert to float"),
        ("*".join(["9" * 100] * 19), "Error: int too large to convert to float"),
        ("1,000 + 1", "Error: invalid characters in expression"),
        ("1 + 1\n", "Error: invalid characters in expression"),
        ("__import__('os')", "Error: invalid characters in expression"),
        ("0 ** -1", "Error: 0.0 cannot be raised to a negative power"),
        ("(1)(2)", "Error: 'int' object is not callable"),
        ("2(3)", "Error: 'int' object is not callable"),
        ("(1)(2)+1", "Error: 'int' object is not callable"),
        ("1 + 2 (3)(4)", "Error: 'int' object is not callable"),
        ("1()", "Error: 'int' object is not callable"),
        ("(1.5)(2)", "Error: 'float' object is not callable"),
        ("(3/2)(1 + 1)", "Error: 'float' object is not callable"),
        ("(1/0)(2)", "Error: division by zero"),
        ("(1)(1/0)", "Error: division by zero"),
        ("1/0 + (1)(2)", "Error: division by zero"),
        ("(1)(2) + 1/0", "Error: 'int' object is not callable"),
        ("()(1)", "Error: 'tuple' object is not callable"),
        ("1 - ()", "Error: unsupported operand type(s) for -: 'int' and 'tuple'"),
    ],
)
def test_calculations(expression, reply):
    assert call(Shop({}, {}, {}), "calculate", {"expression": expression}) == reply


@pytest.mark.parametrize(
    "expression",
    [
        *("(" * 1_999, "-" * 1_999 + "1", "(" * 900 + "1" + ")" * 900, "1" * 2_001, "(1)" * 600),
        *("(-8) ** 0.5", "", "()", "() * 2", "...", "1(*2)", "1(**2)", "(1)(())"),
    ],
)
def test_what_has_no_value_is_an_error(expression):
    assert call(Shop({}, {}, {}), "calculate", {"expression": expression}).startswith("Error: ")
