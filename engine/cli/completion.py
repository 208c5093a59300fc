"""`scbench completion`: what makes a shell complete commands, options, runs and evaluations."""

import click
from click.shell_completion import get_completion_class

VARIABLE = "_SCBENCH_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that makes a shell complete scbench; load it where the shell starts.

    \b
    Example:
      eval "$(scbench completion bash)"
      scbench completion zsh >> ~/.zshrc
      scbench completion fish > ~/.config/fish/completions/scbench.fish
    """
    completer = get_completion_class(shell)
    if completer is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(completer(context.find_root().command, {}, "scbench", VARIABLE).source())
