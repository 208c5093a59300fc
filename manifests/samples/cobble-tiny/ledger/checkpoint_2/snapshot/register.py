def print_register(lines, pattern):
    date = None
    for line in lines:
        if line[0].isdigit():
            date = line.split()[0]
        elif line.startswith(" "):
            parts = line.split()
            if pattern and pattern not in parts[0]:
                continue
            # TODO: running total
            print(date, parts[0], parts[1])
