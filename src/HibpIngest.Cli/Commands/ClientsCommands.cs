using HibpIngest.Pipeline.Callbacks;

namespace HibpIngest.Cli.Commands;

/// <summary>A command on clients, which needs no database.</summary>
internal abstract class ClientCommand(string name, string description) : HibpCommand(name, description)
{
    protected Argument<string> ClientName { get; } = new("NAME") { Description = "Name of the client." };

    protected string NameOf(CommandSession session) => session.Parsed.GetRequiredValue(ClientName).Trim();

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        Check(session);
        using var keys = session.Settings.OpenSecretKeys();
        using var account = await session.OpenAccountAsync(cancellationToken);
        var operations = new ClientOperations(
            account.Clients, account.Keys, account.Prefixes, keys, session.Time, session.Settings.Get<CallbackOptions>().CallLoopback);
        await RunAsync(session, operations, cancellationToken);
    }

    /// <summary>Checks the arguments before anything is opened.</summary>
    protected virtual void Check(CommandSession session)
    {
    }

    protected abstract Task RunAsync(CommandSession session, ClientOperations operations, CancellationToken cancellationToken);

    protected static void ShowNew(CommandSession session, NewClient added)
    {
        if (session.Screen.TryShowJson(() => new NewClientDocument(added.Client.Name, added.Client.Number, added.Key, added.Secret)))
            return;
        if (added.Key is not null)
            session.Screen.Show($"key     {added.Key}");
        if (added.Secret is not null)
            session.Screen.Show($"secret  {added.Secret}");
        session.Screen.Say("This is the only time that it is shown. "
            + (added.Key is null ? "" : "The client sends the key as the header Hibp-Enterprise-Api-Key. ")
            + (added.Secret is null ? "" : "It is called with the secret: Authorization: Bearer SECRET."));
    }
}

internal sealed class ClientsAddCommand : ClientCommand
{
    private readonly Option<string> _url =
        new("--url") { Description = "URL that receives the callbacks; https.", HelpName = "URL", Required = true };
    private readonly Option<bool> _sensitive = new("--sensitive")
    {
        Description = "Also send callbacks for sensitive breaches: the client has confirmed that only an account's owner learns of them.",
    };
    private readonly Option<int> _cap = new("--cap")
    {
        Description = "Maximum concurrent calls, of all hosts together.",
        HelpName = "N",
        DefaultValueFactory = _ => CallbackClient.DefaultCap,
    };
    private readonly Option<int> _rpm = new("--rpm")
    {
        Description = "Maximum requests a minute of its key, for each server instance.",
        HelpName = "N",
        DefaultValueFactory = _ => CallbackClient.DefaultRpm,
    };

    public ClientsAddCommand()
        : base("add", "Add a client. Prints its key and the secret of its callbacks once: the store has the key's hash and the encrypted "
            + "secret.")
    {
        Add(ClientName, _url, _sensitive, _cap, _rpm);
        AddExamples(
            ("hibp clients add contoso --url https://contoso.example/breached", "adds a client, which can then watch prefixes"),
            ("hibp clients add contoso --url https://contoso.example/breached --cap 16 --json", "as JSON: {\"key\", \"secret\"}"));
    }

    protected override async Task RunAsync(CommandSession session, ClientOperations operations, CancellationToken cancellationToken) =>
        ShowNew(session, await operations.AddAsync(
            NameOf(session), session.Parsed.GetRequiredValue(_url), session.Parsed.GetValue(_sensitive), session.Parsed.GetValue(_cap),
            session.Parsed.GetValue(_rpm), cancellationToken));
}

internal sealed class ClientsListCommand : ClientCommand
{
    public ClientsListCommand()
        : base("list", "List the clients, and how many prefixes each watches.") =>
        AddExamples(("hibp clients list", "who receives callbacks, and where"));

    protected override async Task RunAsync(CommandSession session, ClientOperations operations, CancellationToken cancellationToken)
    {
        var found = await operations.ListAsync(cancellationToken);
        if (session.Screen.TryShowJson(() => new ClientListDocument([.. found.Select(one => new ClientListItem(
            one.Client.Name, one.Client.Number, one.Client.Url, one.Client.IsSensitive, one.Client.Cap, one.Client.IsPaused,
            one.Prefixes, one.Client.CreatedAt))])))
            return;
        var table = TableFormat.Create("name", "number", "called at", "of", "at once", "prefixes", "state").AlignRight(1, 4, 5);
        table.AddRows(found, one =>
        [
            one.Client.Name, $"{one.Client.Number}", one.Client.Url, one.Client.IsSensitive ? "all" : "no sensitive ones",
            TableFormat.Number(one.Client.Cap), TableFormat.Number(one.Prefixes), one.Client.IsPaused ? "paused" : "called",
        ]);
        session.Screen.Show(table, ifEmpty: "There are no clients; 'hibp clients add NAME --url URL' adds one.");
    }
}

internal sealed class ClientsRotateCommand : ClientCommand
{
    private readonly Option<bool> _key =
        new("--key") { Description = "Replace the API key instead. The old key is refused within 10 seconds." };
    private readonly Option<int?> _rpm = new("--rpm")
    {
        Description = "Maximum requests a minute of the new key, for each server instance. Default: as before.",
        HelpName = "N",
    };

    public ClientsRotateCommand()
        : base("rotate", "Replace a client's secret. The next callback uses the new one.")
    {
        Add(ClientName, _key, _rpm);
        AddExamples(
            ("hibp clients rotate contoso", "replaces the secret"),
            ("hibp clients rotate contoso --key", "replaces the API key"));
    }

    protected override void Check(CommandSession session)
    {
        if (session.Parsed.GetValue(_rpm) is not null && !session.Parsed.GetValue(_key))
            throw new BadInputException("--rpm requires --key");
    }

    protected override async Task RunAsync(CommandSession session, ClientOperations operations, CancellationToken cancellationToken) =>
        ShowNew(session, session.Parsed.GetValue(_key)
            ? await operations.RotateKeyAsync(NameOf(session), session.Parsed.GetValue(_rpm), cancellationToken)
            : await operations.RotateSecretAsync(NameOf(session), cancellationToken));
}

internal sealed class ClientsPauseCommand : ClientCommand
{
    public ClientsPauseCommand()
        : base("pause", "Pause a client's callbacks. They are kept until it is resumed.")
    {
        Add(ClientName);
        AddExamples(("hibp clients pause contoso", "while its server moves"));
    }

    protected override async Task RunAsync(CommandSession session, ClientOperations operations, CancellationToken cancellationToken) =>
        ClientsResumeCommand.Show(session, await operations.SetPausedAsync(NameOf(session), true, cancellationToken));
}

internal sealed class ClientsResumeCommand : ClientCommand
{
    public ClientsResumeCommand()
        : base("resume", "Resume a client's callbacks.")
    {
        Add(ClientName);
        AddExamples(("hibp clients resume contoso", "its server is back"));
    }

    public static void Show(CommandSession session, CallbackClient client)
    {
        session.Screen.ShowResult(new ClientStateDocument(client.Name, client.IsPaused),
            $"{client.Name} is {(client.IsPaused ? "paused" : "called")}.");
    }

    protected override async Task RunAsync(CommandSession session, ClientOperations operations, CancellationToken cancellationToken)
    {
        if (!session.NamesDatabase)
        {
            // If there is no database, no callback has been recorded.
            Show(session, await operations.SetPausedAsync(NameOf(session), false, cancellationToken));
            return;
        }
        await using var services = await session.OpenExistingAsync(cancellationToken);
        Show(session, await services.GetRequiredService<CallbackOperations>().ResumeAsync(operations, NameOf(session), cancellationToken));
    }
}

internal sealed class ClientsRemoveCommand : ClientCommand
{
    private readonly Confirmation _confirmation = new();

    public ClientsRemoveCommand()
        : base("remove", "Remove a client, its key and the prefixes that it watches.")
    {
        Add(ClientName, _confirmation.Yes);
        AddExamples(("hibp clients remove contoso", "removes the client after confirmation"));
    }

    protected override void Check(CommandSession session) => _confirmation.RequireAnswerable(session.Parsed, "clients remove");

    protected override async Task RunAsync(CommandSession session, ClientOperations operations, CancellationToken cancellationToken)
    {
        var client = await operations.GetAsync(NameOf(session), cancellationToken);
        var prefixes = await operations.CountAsync(client.Number, cancellationToken);
        await _confirmation.AskAsync(
            session, $"{client.Name} and the {TableFormat.Number(prefixes)} prefixes that it watches will be removed.", client.Name,
            cancellationToken);
        session.Screen.Say(
            $"Its key is revoked; waiting {ClientOperations.RemovalPause.TotalSeconds:N0} seconds until all servers know.");
        await operations.RemoveAsync(client.Name, cancellationToken);
        session.Screen.ShowResult(new ClientRemovedDocument(client.Name), $"{client.Name} is removed.");
    }
}
