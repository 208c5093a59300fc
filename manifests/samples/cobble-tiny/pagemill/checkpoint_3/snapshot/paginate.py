def paginate(items, size):
    pages = []
    for i in range(0, len(items), size):
        pages.append(items[i:size])
    return pages
