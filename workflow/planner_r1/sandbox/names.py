"""The words that made-up worlds are named with. A name is one city word, or two capitalised words."""

from itertools import product


def _pairs(first: str, second: str) -> tuple[str, ...]:
    return tuple(f"{a} {b}" for a, b in product(first.split(), second.split()))


CITIES = tuple(
    a + b
    for a, b in product(
        "Ash Brook Clear Dun East Fair Glen Hart Iron Kings Lake Mill North Oak Pine Red Stone Thorn Wood York".split(),
        "bury dale field ford gate ham haven mere mont port ridge side ton vale ville view ward wick".split(),
    )
)

STATES = tuple(
    a + b
    for a, b in product(
        "Al Bel Cor Dor El Fal Gar Hes Il Kar Lor Mar".split(), "abria andia envar essa onia uvia".split()
    )
)

_ADJECTIVES = (
    "Amber Blue Bright Copper Crimson Crystal Dusty Emerald Fancy Gentle Golden Happy Hidden Humble Ivory Jolly Lucky "
    "Merry Misty Modern Noble Olive Plain Proud Quiet Rapid Rosy Royal Rustic Salty Scarlet Secret Shady Silent Silver "
    "Simple Sleepy Smoky Snowy Spicy Sunny Swift Tender Tiny Urban Velvet Vivid Warm Wild Witty"
)

RESTAURANTS = _pairs(
    _ADJECTIVES,
    "Basil Bistro Bowl Cafe Chef Cellar Deli Diner Dish Feast Fork Garlic Ginger Grill Kettle Kitchen Ladle Lantern "
    "Lemon Lounge Mango Menu Mint Noodle Onion Oven Pantry Pepper Plate Platter Saffron Sesame Skillet Spoon Table "
    "Tavern Thyme Tomato Truffle Wok",
)

ACCOMMODATIONS = _pairs(
    _ADJECTIVES,
    "Apartment Attic Barn Bungalow Cabin Chalet Condo Cottage Den Dwelling Flat Haven Hideaway Home House Hut Lodge "
    "Loft Mansion Nest Nook Quarters Ranch Rest Retreat Room Sanctuary Studio Suite Villa",
)

ATTRACTIONS = _pairs(
    _ADJECTIVES,
    "Abbey Aquarium Arena Beach Bridge Canal Castle Cave Chapel Cliff Fountain Gallery Garden Harbor Hill Island "
    "Library Lighthouse Market Meadow Monument Museum Observatory Palace Park Pier Plaza Theater Tower Zoo",
)

STREETS = _pairs("Church Elm High Hill Main Market Mill Park River School Spring Station", "Avenue Road Square Street")
