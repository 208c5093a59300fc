import msgspec

from engine.window import Entry, Limit, Order, Window


class Item(msgspec.Struct, frozen=True):
    id: str
    problem: str = "p"
    model: str = "m"
    seconds: float | None = None


def filled(order: Order[Item], *items: Item) -> Window[Item]:
    window = Window(order)
    for number, item in enumerate(items):
        window.add(Entry(item, number, order))
    return window


def taken(window: Window[Item], *, release: bool = True) -> list[str]:
    names: list[str] = []
    while (entry := window.take()) is not None:
        names.append(entry.item.id)
        if release:
            window.release(entry)
    return names


def test_without_rules_the_order_is_kept() -> None:
    """Items that nothing sets apart start in the order in which they came."""
    assert taken(filled(Order(), *(Item(str(n)) for n in range(5)))) == list("01234")


def test_longest_first() -> None:
    """What took longest before starts first; what is unknown starts last."""
    order: Order[Item] = Order(expected=lambda item: item.seconds)
    window = filled(order, Item("short", seconds=1), Item("unknown"), Item("long", seconds=9))
    assert taken(window) == ["long", "short", "unknown"]


def test_turns_are_taken_fairly_between_problems() -> None:
    """With one place, problems take turns though one of them came first with everything."""
    order: Order[Item] = Order(shares=(lambda item: item.problem,))
    items = [Item(f"a{n}", "a") for n in range(4)] + [Item(f"b{n}", "b") for n in range(2)]
    assert taken(filled(order, *items)) == ["a0", "b0", "a1", "b1", "a2", "a3"]


def test_places_are_shared_between_problems_and_models() -> None:
    """While others run, the problem and model with the least running come next."""
    order: Order[Item] = Order(shares=(lambda item: item.problem, lambda item: item.model))
    items = [Item(f"{p}{m}", p, m) for p in "ab" for m in "xy"]
    first_two = taken(filled(order, *items), release=False)[:2]
    assert first_two == ["ax", "by"]


def test_a_limited_item_does_not_block_others() -> None:
    """When a problem is at its limit, items behind it that are free to go, go."""
    limit: Limit[Item] = Limit(name="problem", key=lambda item: item.problem, at_most=1)
    window = filled(Order(limits=(limit,)), Item("a0", "a"), Item("a1", "a"), Item("b0", "b"))
    assert taken(window, release=False) == ["a0", "b0"]
    assert len(window) == 1


def test_nobody_is_overtaken_for_ever() -> None:
    """A short item goes before longer ones once enough of them have overtaken it."""
    order: Order[Item] = Order(expected=lambda item: item.seconds, patience=10)
    window = filled(order, Item("short", seconds=1), *(Item(f"l{n}", seconds=9) for n in range(50)))
    assert taken(window).index("short") == 10


def test_an_item_can_be_taken_out() -> None:
    """What is removed is not taken any more and holds no place."""
    limit: Limit[Item] = Limit(name="problem", key=lambda item: item.problem, at_most=1)
    window = filled(Order(limits=(limit,)), Item("a"), Item("b"), Item("c"))
    removed = window.remove(lambda item: item.id == "b")
    assert removed is not None
    assert removed.item.id == "b"
    assert window.remove(lambda item: item.id == "b") is None
    assert taken(window) == ["a", "c"]
