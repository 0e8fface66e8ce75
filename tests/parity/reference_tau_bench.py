"""A second shop of tau-bench retail, slow and plain, to hold the first one against.

Written from what the official tools were seen to do, over plain dicts that are changed in place. It shares no code with
the product, and must never be made faster by taking some. `calculate` is left out.

A shop is {"orders": {id: record}, "products": {id: record}, "users": {id: record}}.
"""

import hashlib
import json

RAISED = (AttributeError, IndexError, KeyError, TypeError)
RECEIPT = "Transfer successful"


class Refusal(Exception):
    pass


def reply(shop, name, kwargs):
    """What a tool says. None where Python itself raises: then any words after "Error: " will do."""
    if name not in TOOLS:
        return f"Unknown action {name}"
    try:
        return TOOLS[name](shop, **kwargs)
    except Refusal as refusal:
        return f"Error: {refusal}"
    except RAISED:
        return None


def data_hash(shop):
    return hashlib.sha256(str(frozen(shop)).encode("utf-8")).hexdigest()


def frozen(value):
    if isinstance(value, dict):
        return tuple((key, frozen(value[key])) for key in sorted(value))
    if isinstance(value, list):
        return tuple(frozen(held) for held in value)
    return value


def reward(shop_of_agent, shop_of_gold, outputs, said):
    heard = [text.lower().replace(",", "") for text in said]
    all_said = all([any([output.lower() in text for text in heard]) for output in outputs])
    return 1.0 if data_hash(shop_of_agent) == data_hash(shop_of_gold) and all_said else 0.0


# --- what the tools have in common -----------------------------------------------------------------------------------


def refuse_if(bad, why):
    if bad:
        raise Refusal(why)


def find_order(shop, order_id, status, why):
    refuse_if(order_id not in shop["orders"], "order not found")
    order = shop["orders"][order_id]
    refuse_if(order["status"] != status, why)
    return order, shop["users"][order["user_id"]]["payment_methods"]


def is_gift_card(method_id):
    return "gift_card" in method_id


def add_to_balance(methods, method_id, amount):
    if is_gift_card(method_id):
        methods[method_id]["balance"] = round(methods[method_id]["balance"] + amount, 2)


def entry(kind, amount, method_id):
    return {"transaction_type": kind, "amount": amount, "payment_method_id": method_id}


def first_with_id(order, item_id):
    for item in order["items"]:
        if item["item_id"] == item_id:
            return item
    raise Refusal(f"{item_id} not found")


def price_difference(shop, order, item_ids, new_item_ids):
    """The prices of the new items less those of the old ones, each added in turn to what is there so far."""
    held = [item["item_id"] for item in order["items"]]
    for item_id in item_ids:
        refuse_if(item_ids.count(item_id) > held.count(item_id), f"{item_id} not found")
    refuse_if(len(item_ids) != len(new_item_ids), "the number of items to be exchanged should match")
    difference = 0
    for old_id, new_id in zip(item_ids, new_item_ids, strict=True):
        old = first_with_id(order, old_id)
        variants = shop["products"][old["product_id"]]["variants"]
        refuse_if(
            new_id not in variants or not variants[new_id]["available"], f"new item {new_id} not found or available"
        )
        difference += variants[new_id]["price"] - old["price"]
    return difference


def check_funds(methods, method_id, amount, why):
    refuse_if(method_id not in methods, "payment method not found")
    refuse_if(methods[method_id]["source"] == "gift_card" and methods[method_id]["balance"] < amount, why)


# --- the tools that write --------------------------------------------------------------------------------------------


def cancel(shop, order_id, reason):
    order, methods = find_order(shop, order_id, "pending", "non-pending order cannot be cancelled")
    refuse_if(reason not in ("no longer needed", "ordered by mistake"), "invalid reason")
    for paid in list(order["payment_history"]):
        order["payment_history"].append(entry("refund", paid["amount"], paid["payment_method_id"]))
        add_to_balance(methods, paid["payment_method_id"], paid["amount"])
    order["status"] = "cancelled"
    order["cancel_reason"] = reason
    return json.dumps(order)


def change_address(shop, order_id, address1, address2, city, state, country, zip):
    order, _ = find_order(shop, order_id, "pending", "non-pending order cannot be modified")
    order["address"] = dict(address1=address1, address2=address2, city=city, state=state, country=country, zip=zip)
    return json.dumps(order)


def change_user_address(shop, user_id, address1, address2, city, state, country, zip):
    refuse_if(user_id not in shop["users"], "user not found")
    user = shop["users"][user_id]
    user["address"] = dict(address1=address1, address2=address2, city=city, state=state, country=country, zip=zip)
    return json.dumps(user)


def change_payment(shop, order_id, payment_method_id):
    order, methods = find_order(shop, order_id, "pending", "non-pending order cannot be modified")
    refuse_if(payment_method_id not in methods, "payment method not found")
    history = order["payment_history"]
    refuse_if(
        len(history) > 1 or history[0]["transaction_type"] != "payment",
        "there should be exactly one payment for a pending order",
    )
    amount, old_id = history[0]["amount"], history[0]["payment_method_id"]
    refuse_if(payment_method_id == old_id, "the new payment method should be different from the current one")
    check_funds(methods, payment_method_id, amount, "insufficient gift card balance to pay for the order")
    history.append(entry("payment", amount, payment_method_id))
    history.append(entry("refund", amount, old_id))
    add_to_balance(methods, payment_method_id, -amount)
    add_to_balance(methods, old_id, amount)
    return json.dumps(order)


def change_items(shop, order_id, item_ids, new_item_ids, payment_method_id):
    order, methods = find_order(shop, order_id, "pending", "non-pending order cannot be modified")
    difference = price_difference(shop, order, item_ids, new_item_ids)
    check_funds(methods, payment_method_id, difference, "insufficient gift card balance to pay for the new item")
    kind = "payment" if difference > 0 else "refund"
    order["payment_history"].append(entry(kind, abs(difference), payment_method_id))
    add_to_balance(methods, payment_method_id, -difference)
    for old_id, new_id in zip(item_ids, new_item_ids, strict=True):
        item = first_with_id(order, old_id)  # may be one that has just become an `old_id`
        variant = shop["products"][item["product_id"]]["variants"][new_id]
        item["item_id"], item["price"], item["options"] = new_id, variant["price"], variant["options"]
    order["status"] = "pending (item modified)"
    return json.dumps(order)


def exchange(shop, order_id, item_ids, new_item_ids, payment_method_id):
    order, methods = find_order(shop, order_id, "delivered", "non-delivered order cannot be exchanged")
    difference = round(price_difference(shop, order, item_ids, new_item_ids), 2)
    why = "insufficient gift card balance to pay for the price difference"
    check_funds(methods, payment_method_id, difference, why)
    old, new = sorted(item_ids), sorted(new_item_ids)
    order["status"] = "exchange requested"
    order["exchange_items"], order["exchange_new_items"] = old, new
    order["exchange_payment_method_id"], order["exchange_price_difference"] = payment_method_id, difference
    return json.dumps(order)


def send_back(shop, order_id, item_ids, payment_method_id):
    order, methods = find_order(shop, order_id, "delivered", "non-delivered order cannot be returned")
    refuse_if(payment_method_id not in methods, "payment method not found")
    refuse_if(
        not is_gift_card(payment_method_id) and payment_method_id != order["payment_history"][0]["payment_method_id"],
        "payment method should be either the original payment method or a gift card",
    )
    held = [item["item_id"] for item in order["items"]]
    refuse_if(any([item_ids.count(one) > held.count(one) for one in item_ids]), "some item not found")
    items = sorted(item_ids)
    order["status"] = "return requested"
    order["return_items"], order["return_payment_method_id"] = items, payment_method_id
    return json.dumps(order)


# --- the tools that read ---------------------------------------------------------------------------------------------


def user_by_email(shop, email):
    return one_user(shop, lambda user: user["email"].lower() == email.lower())


def user_by_name(shop, first_name, last_name, zip):
    return one_user(
        shop,
        lambda user: (
            user["name"]["first_name"].lower() == first_name.lower()
            and user["name"]["last_name"].lower() == last_name.lower()
            and user["address"]["zip"] == zip
        ),
    )


def one_user(shop, wanted):
    found = [user_id for user_id, user in shop["users"].items() if wanted(user)]
    refuse_if(not found, "user not found")
    return found[0]


def show_order(shop, order_id):
    return show(shop["orders"], order_id, "order")


def show_product(shop, product_id):
    return show(shop["products"], product_id, "product")


def show_user(shop, user_id):
    return show(shop["users"], user_id, "user")


def show(table, key, kind):
    refuse_if(key not in table, f"{kind} not found")
    return json.dumps(table[key])


def list_products(shop):
    by_name = {product["name"]: product_id for product_id, product in shop["products"].items()}
    return json.dumps({name: by_name[name] for name in sorted(by_name)})


def think(shop, thought):
    return ""


def transfer(shop, summary):
    return RECEIPT


TOOLS = {
    "cancel_pending_order": cancel,
    "exchange_delivered_order_items": exchange,
    "find_user_id_by_email": user_by_email,
    "find_user_id_by_name_zip": user_by_name,
    "get_order_details": show_order,
    "get_product_details": show_product,
    "get_user_details": show_user,
    "list_all_product_types": list_products,
    "modify_pending_order_address": change_address,
    "modify_pending_order_items": change_items,
    "modify_pending_order_payment": change_payment,
    "modify_user_address": change_user_address,
    "return_delivered_order_items": send_back,
    "think": think,
    "transfer_to_human_agents": transfer,
}
