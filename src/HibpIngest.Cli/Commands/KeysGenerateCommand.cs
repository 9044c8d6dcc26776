namespace HibpIngest.Cli.Commands;

internal sealed class KeysGenerateCommand : HibpCommand
{
    public KeysGenerateCommand()
        : base("generate", "Generate the keys of pages and links, as settings. Nothing is stored: keep them where your other secrets are.")
    {
        AddExamples(
            ("hibp keys generate", "NAME=VALUE, one a line; docs/people.md says which hosts need which"),
            ("hibp keys generate --json", "as JSON: {\"linkKeys\", \"ticketKey\", \"commandKey\", \"commandPublicKey\"}"));
    }

    protected override Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var command = KeyText.Generate();
        var keys = new GeneratedKeysDocument(KeyText.Generate(), KeyText.Generate(), command, CommandKey.Parse(command)!.PublicKey);
        if (session.Screen.TryShowJson(() => keys))
            return Task.CompletedTask;
        session.Screen.Show($"HIBP_LINK_KEYS={keys.LinkKeys}");
        session.Screen.Show($"HIBP_TICKET_KEY={keys.TicketKey}");
        session.Screen.Show($"HIBP_COMMAND_KEY={keys.CommandKey}");
        session.Screen.Show($"HIBP_COMMAND_PUBLIC_KEY={keys.CommandPublicKey}");
        session.Screen.Say("The API ('hibp serve') needs HIBP_LINK_KEYS, HIBP_TICKET_KEY and HIBP_COMMAND_PUBLIC_KEY. The pipeline ('hibp "
            + "run') needs HIBP_LINK_KEYS, HIBP_COMMAND_KEY, which no other program may have, and HIBP_SUPPRESSION_KEY (make it once: "
            + "openssl rand -base64 32).");
        return Task.CompletedTask;
    }
}
