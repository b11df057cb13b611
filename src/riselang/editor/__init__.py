"""What an editor asks of a text: what is wrong, what a name means, what may stand there.

Text in, plain answers out; read `document.py` first. `server.py` alone knows the language server
protocol, and everything below it works without the packages for that. Texts are checked by what
`rise check` checks them with, and stay what they are: nothing here writes a file.
"""
