print("no idea")
