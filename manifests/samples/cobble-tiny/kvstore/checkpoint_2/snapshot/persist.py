def save(store):
    # TODO write to file
    pass

def load():
    return {}
