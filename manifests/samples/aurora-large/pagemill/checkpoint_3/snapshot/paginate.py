"""Cutting the list of posts into pieces."""
from typing import Any


def piece_url(url: str, number: int) -> str:
    """``news/blog.html`` for the first piece, ``news/blog-2.html`` for the second."""
    if number == 1:
        return url
    return f"{url[: -len('.html')]}-{number}.html"


def make_paginators(posts: list[Any], size: int, url: str) -> list[dict[str, Any]]:
    chunks = [posts[start:start + size] for start in range(0, len(posts), size)] or [[]]
    total = len(chunks)
    return [
        {
            "posts": chunk,
            "number": number,
            "total": total,
            "prev_url": piece_url(url, number - 1) if number > 1 else None,
            "next_url": piece_url(url, number + 1) if number < total else None,
        }
        for number, chunk in enumerate(chunks, start=1)
    ]
