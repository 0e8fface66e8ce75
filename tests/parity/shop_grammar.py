"""Draw small shops at the edges of tau-bench's rules, and calls of its tools of which most succeed."""

REASONS = ["no longer needed", "ordered by mistake"]
STATUSES = ["pending"] * 4 + ["delivered"] * 4 + ["processed", "cancelled"]
PRICES = [5, 7.1, 7.3, 10.05, 12.345, 0.1, 20, 33.33]
# What an argument is now and then replaced by. A list in a list, as one more kind of a wrong item, is for lists alone.
WRONG = ["", "#W9", "gift_card_0", "10", "i", None, 3, 2.5, True, [], ["10"], {}, {"10": 1}]
TOOLS = [
    "cancel_pending_order",
    "exchange_delivered_order_items",
    "modify_pending_order_address",
    "modify_pending_order_items",
    "modify_pending_order_payment",
    "modify_user_address",
    "return_delivered_order_items",
]
READS = ["find_user_id_by_email", "find_user_id_by_name_zip", "get_order_details", "get_user_details"]
OTHERS = ["get_product_details", "list_all_product_types", "think", "get_user", ""]


def draw_shop(rng):
    """Two users with up to three methods of payment, and orders of few products, often the same item twice."""
    products = {}
    for number, name in enumerate(["Lamp", "Kettle", "Clock"][: rng.randint(1, 3)], start=1):
        variants = {}
        for item_id in [f"{number}{at}" for at in range(rng.randint(1, 4))]:
            options = {"color": rng.choice(["red", "blué", "it's"])}
            available = rng.random() < 0.85
            variants[item_id] = {
                "item_id": item_id,
                "options": options,
                "available": available,
                "price": rng.choice(PRICES),
            }
        products[f"p{number}"] = {"name": name, "product_id": f"p{number}", "variants": variants}
    users, orders = {}, {}
    for number in range(2):
        users[f"user_{number}"] = user = draw_user(number, rng)
        for at in range(rng.randint(1, 3)):
            order = draw_order(f"#W{number}{at}", f"user_{number}", list(user["payment_methods"]), products, rng)
            orders[order["order_id"]] = order
            user["orders"].append(order["order_id"])
        for method in user["payment_methods"].values():
            if method["source"] == "gift_card" and rng.random() < 0.2:
                method["balance"] = order["payment_history"][0]["amount"]  # just enough, to the last digit
    return {"orders": orders, "products": products, "users": users}


def draw_user(number, rng):
    gift_card, card, paypal = f"gift_card_{number}", f"credit_card_{number}", f"paypal_{number}"
    methods = {
        gift_card: {
            "source": "gift_card",
            "balance": rng.choice([0, 0.2, 2.2, 5, 12.3, 20, 40.5, 200]),
            "id": gift_card,
        },
        card: {"source": "credit_card", "brand": "visa", "last_four": "1234", "id": card},
        paypal: {"source": "paypal", "id": paypal},
    }
    kept = rng.sample(list(methods), rng.choice([1, 2, 3, 3]))
    return {
        "name": {"first_name": rng.choice(["Ada", "Ben"]), "last_name": "Holm"},
        "address": draw_address(rng),
        "email": f"Holm{number}@example.com",
        "payment_methods": {method: methods[method] for method in kept},
        "orders": [],
    }


def draw_order(order_id, user_id, methods, products, rng):
    items = []
    for _ in range(rng.randint(1, 4)):
        product = rng.choice(list(products.values()))
        variant = rng.choice(list(product["variants"].values()))
        price = variant["price"] if rng.random() < 0.7 else rng.choice(PRICES)
        ids = {"name": product["name"], "product_id": product["product_id"], "item_id": variant["item_id"]}
        items.append({**ids, "price": price, "options": dict(variant["options"])})
    amount = rng.choice([sum(item["price"] for item in items), round(sum(item["price"] for item in items), 2)])
    kinds = rng.choice([["payment"]] * 10 + [["refund"], ["payment", "payment"]])
    history = [{"transaction_type": kind, "amount": amount, "payment_method_id": rng.choice(methods)} for kind in kinds]
    return {
        "order_id": order_id,
        "user_id": user_id,
        "address": draw_address(rng),
        "items": items,
        "fulfillments": [],
        "status": rng.choice(STATUSES),
        "payment_history": history,
    }


def draw_address(rng):
    return {
        "address1": f"{rng.randint(1, 3)} Elm Street",
        "address2": rng.choice(["", "Suite 1"]),
        "city": rng.choice(["Bonn", "Köln"]),
        "country": "USA",
        "state": "NC",
        "zip": rng.choice(["10001", "20002"]),
    }


def draw_call(shop, rng):
    """(name, arguments) of a call, mostly about an order of the first user and one that the order's state allows."""
    orders = list(shop["orders"].values())
    order = orders[0] if rng.random() < 0.6 else rng.choice(orders)
    name = rng.choice(rng.choice([TOOLS] * 8 + [READS, OTHERS]))
    state = order["status"].split()[0]
    if state in ("pending", "delivered") and name in TOOLS and rng.random() < 0.8:
        name = rng.choice([tool for tool in TOOLS if state in tool])
    kwargs = draw_arguments(name, order, shop, rng)
    return name, spoil(kwargs, rng) if rng.random() < 0.2 else kwargs


def draw_arguments(name, order, shop, rng):
    user = shop["users"][order["user_id"]]
    order_id, method = {"order_id": order["order_id"]}, {"payment_method_id": draw_method(name, order, user, rng)}
    if name == "cancel_pending_order":
        return {**order_id, "reason": rng.choice(REASONS)}
    if name == "modify_pending_order_address":
        return {**order_id, **draw_address(rng)}
    if name == "modify_user_address":
        return {"user_id": order["user_id"], **draw_address(rng)}
    if name == "modify_pending_order_payment":
        return {**order_id, **method}
    if name == "return_delivered_order_items":
        return {**order_id, "item_ids": [item["item_id"] for item in some_items(order, rng)], **method}
    if name.endswith("order_items"):
        items = some_items(order, rng)
        old, new = [item["item_id"] for item in items], [other_item(item, shop, rng) for item in items]
        return {**order_id, "item_ids": old, "new_item_ids": new, **method}
    return {
        "find_user_id_by_email": {"email": rng.choice([user["email"], user["email"].upper(), "x"])},
        "find_user_id_by_name_zip": {**user["name"], "zip": user["address"]["zip"]},
        "get_order_details": order_id,
        "get_user_details": {"user_id": order["user_id"]},
        "get_product_details": {"product_id": order["items"][0]["product_id"]},
        "think": {"thought": "hm"},
    }.get(name, {})


def draw_method(name, order, user, rng):
    used, methods = order["payment_history"][0]["payment_method_id"], user["payment_methods"]
    others = [method for method in methods if method != used]
    if others and name == "modify_pending_order_payment" and rng.random() < 0.8:
        return rng.choice(others)
    return rng.choice([used, *methods])


def some_items(order, rng):
    return rng.sample(order["items"], rng.choice([min(1, len(order["items"])), rng.randint(0, len(order["items"]))]))


def other_item(item, shop, rng):
    """Mostly one of the same product that is available, sometimes the item itself or that of another product."""
    variants = shop["products"][item["product_id"]]["variants"]
    fitting = [item_id for item_id, variant in variants.items() if variant["available"]] or list(variants)
    anywhere = [item_id for product in shop["products"].values() for item_id in product["variants"]]
    return rng.choice(fitting if rng.random() < 0.9 else anywhere)


def spoil(kwargs, rng):
    """One argument gone, added, of another type, or a list that is no longer right."""
    kwargs = dict(kwargs)
    lists = [key for key, value in kwargs.items() if isinstance(value, list)]
    if lists and rng.random() < 0.6:
        key = rng.choice(lists)
        items = list(kwargs[key])
        at = rng.randint(0, len(items))
        match rng.randint(0, 3):
            case 0:
                items.insert(at, rng.choice([*items, "10", "x", 10, None, ["10"]]))
            case 1:
                del items[at : at + 1]
            case 2:
                items.reverse()
            case 3:
                items = "".join(map(str, items))
        kwargs[key] = items
        return kwargs
    key = rng.choice([*kwargs, "extra"])
    if key in kwargs and rng.random() < 0.2:
        del kwargs[key]
    else:
        kwargs[key] = rng.choice(WRONG)
    return kwargs
