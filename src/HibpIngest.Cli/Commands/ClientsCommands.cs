using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Settings;
using HibpIngest.Storage.Azure;

namespace HibpIngest.Cli.Commands;

internal sealed class ClientsCommands() : CommandGroup(
    "clients", "Say who watches prefixes of hashes, to be called back of breaches.", new ClientsAddCommand(), new ClientsListCommand(),
    new ClientsRotateCommand(), new ClientsPauseCommand(), new ClientsResumeCommand(), new ClientsRemoveCommand());

/// <summary>A command on clients, which needs no database.</summary>
internal abstract class ClientCommand(string name, string description) : HibpCommand(name, description)
{
    protected Argument<string> ClientName { get; } = new("NAME") { Description = "Name of the client." };

    protected string NameOf(CommandSession session) => session.Parsed.GetRequiredValue(ClientName).Trim();

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        Check(session);
        using var keys = session.Settings.OpenSecretKeys();
        using var account = await session.OpenAccountAsync(cancellationToken);
        await RunAsync(session, Operations(session, account, keys), cancellationToken);
        return 0;
    }

    /// <summary>Checks the arguments before anything is opened.</summary>
    protected virtual void Check(CommandSession session)
    {
    }

    protected abstract Task RunAsync(CommandSession session, ClientOperations operations, CancellationToken cancellationToken);

    protected static void ShowNew(CommandSession session, NewClient added)
    {
        if (session.Screen.Json)
        {
            session.Screen.ShowJson(
                new NewClientDocument(added.Client.Name, added.Client.Number, added.Key, added.Secret),
                Documents.Default.NewClientDocument);
            return;
        }
        if (added.Key is not null)
            session.Screen.Show($"key     {added.Key}");
        if (added.Secret is not null)
            session.Screen.Show($"secret  {added.Secret}");
        session.Screen.Say("This is the only time that it is shown. "
            + (added.Key is null ? "" : "The client sends the key as the header Hibp-Enterprise-Api-Key. ")
            + (added.Secret is null ? "" : "It is called with the secret: Authorization: Bearer SECRET."));
    }

    private static ClientOperations Operations(CommandSession session, StorageAccount account, SecretKeys? keys) =>
        new(
        account.Clients, account.Keys, account.Prefixes, keys, session.Time, session.Settings.Get<CallbackOptions>().CallLoopback);
}

internal sealed class ClientsAddCommand : ClientCommand
{
    private readonly Option<string> _url = new("--url")
    {
        Description = "Where it is called, by https.",
        HelpName = "URL",
        Required = true,
    };
    private readonly Option<bool> _sensitive = new("--sensitive")
    {
        Description = "Call it of sensitive breaches too: it has told that only who an account belongs to learns of them.",
    };
    private readonly Option<int> _cap = new("--cap")
    {
        Description = "Most calls in flight to it, of all hosts together.",
        HelpName = "N",
        DefaultValueFactory = _ => CallbackClient.DefaultCap,
    };
    private readonly Option<int> _rpm = new("--rpm")
    {
        Description = "Requests a minute of its key, of each instance that answers.",
        HelpName = "N",
        DefaultValueFactory = _ => CallbackClient.DefaultRpm,
    };

    public ClientsAddCommand()
        : base("add", "Add a client. Its key and the secret that it is called with are printed once, and kept as a hash and sealed.")
    {
        Add(ClientName);
        Add(_url);
        Add(_sensitive);
        Add(_cap);
        Add(_rpm);
        Examples =
        [
            ("hibp clients add contoso --url https://contoso.example/breached", "a client that may watch prefixes"),
            ("hibp clients add contoso --url https://contoso.example/breached --cap 16 --json", "for a program: {\"key\",\"secret\"}"),
        ];
    }

    protected override async Task RunAsync(CommandSession session, ClientOperations operations, CancellationToken cancellationToken) =>
        ShowNew(session, await operations.AddAsync(
            NameOf(session), session.Parsed.GetRequiredValue(_url), session.Parsed.GetValue(_sensitive), session.Parsed.GetValue(_cap),
            session.Parsed.GetValue(_rpm), cancellationToken));
}

internal sealed class ClientsListCommand : ClientCommand
{
    public ClientsListCommand()
        : base("list", "Show the clients, and how many prefixes each watches.") =>
        Examples = [("hibp clients list", "who is called, and where")];

    protected override async Task RunAsync(CommandSession session, ClientOperations operations, CancellationToken cancellationToken)
    {
        var found = await operations.ListAsync(cancellationToken);
        if (session.Screen.Json)
        {
            session.Screen.ShowJson(
                new ClientListDocument([.. found.Select(one => new ClientListItem(
                    one.Client.Name, one.Client.Number, one.Client.Url, one.Client.IsSensitive, one.Client.Cap, one.Client.IsPaused,
                    one.Prefixes, one.Client.CreatedAt))]),
                Documents.Default.ClientListDocument);
            return;
        }
        if (found.Count == 0)
        {
            session.Screen.Show("There are no clients; 'hibp clients add NAME --url URL' adds one.");
            return;
        }
        var table = TableFormat.Create("name", "number", "called at", "of", "at once", "prefixes", "state");
        foreach (var column in (int[])[1, 4, 5])
            table.Columns[column].RightAligned();
        foreach (var (client, prefixes) in found)
        {
            table.AddRow(
                new Text(client.Name), new Text($"{client.Number}"), new Text(client.Url),
                new Text(client.IsSensitive ? "all" : "no sensitive ones"), new Text(TableFormat.Number(client.Cap)),
                new Text(TableFormat.Number(prefixes)), new Text(client.IsPaused ? "paused" : "called"));
        }
        session.Screen.Show(table);
    }
}

internal sealed class ClientsRotateCommand : ClientCommand
{
    private readonly Option<bool> _key = new("--key")
    {
        Description = "Another key of the API instead; the one that it has is refused within 10 seconds.",
    };
    private readonly Option<int?> _rpm = new("--rpm")
    {
        Description = "Requests a minute of its new key, of each instance that answers; as many as before unless it is given.",
        HelpName = "N",
    };

    public ClientsRotateCommand()
        : base("rotate", "Give a client another secret, which it is called with from the next call on.")
    {
        Add(ClientName);
        Add(_key);
        Add(_rpm);
        Examples =
        [
            ("hibp clients rotate contoso", "another secret"),
            ("hibp clients rotate contoso --key", "another key"),
        ];
    }

    protected override void Check(CommandSession session)
    {
        if (session.Parsed.GetValue(_rpm) is not null && !session.Parsed.GetValue(_key))
            throw new BadInputException("--rpm says something only with --key");
    }

    protected override async Task RunAsync(CommandSession session, ClientOperations operations, CancellationToken cancellationToken) =>
        ShowNew(session, session.Parsed.GetValue(_key)
            ? await operations.RotateKeyAsync(NameOf(session), session.Parsed.GetValue(_rpm), cancellationToken)
            : await operations.RotateSecretAsync(NameOf(session), cancellationToken));
}

internal sealed class ClientsPauseCommand : ClientCommand
{
    public ClientsPauseCommand()
        : base("pause", "Call a client no more until it is resumed. What it is to be called of is kept.")
    {
        Add(ClientName);
        Examples = [("hibp clients pause contoso", "it is being moved")];
    }

    protected override async Task RunAsync(CommandSession session, ClientOperations operations, CancellationToken cancellationToken) =>
        ClientsResumeCommand.Show(session, await operations.SetPausedAsync(NameOf(session), true, cancellationToken));
}

internal sealed class ClientsResumeCommand : ClientCommand
{
    public ClientsResumeCommand()
        : base("resume", "Call a client again.")
    {
        Add(ClientName);
        Examples = [("hibp clients resume contoso", "it is back")];
    }

    public static void Show(CommandSession session, CallbackClient client)
    {
        session.Screen.ShowResult(
            new ClientStateDocument(client.Name, client.IsPaused), Documents.Default.ClientStateDocument,
            $"{client.Name} is {(client.IsPaused ? "paused" : "called")}.");
    }

    protected override async Task RunAsync(CommandSession session, ClientOperations operations, CancellationToken cancellationToken)
    {
        if (!session.NamesDatabase)
        {
            // Without a database no callback has been recorded.
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
        : base("remove", "Take a client away, with its key and all that it watches.")
    {
        Add(ClientName);
        Add(_confirmation.Yes);
        Examples = [("hibp clients remove contoso", "asks, and takes it away")];
    }

    protected override void Check(CommandSession session) => _confirmation.RequireAnswerable(session.Parsed, "clients remove");

    protected override async Task RunAsync(CommandSession session, ClientOperations operations, CancellationToken cancellationToken)
    {
        var client = await operations.GetAsync(NameOf(session), cancellationToken);
        var prefixes = await operations.CountAsync(client.Number, cancellationToken);
        await _confirmation.AskAsync(
            session, $"{client.Name} and the {TableFormat.Number(prefixes)} prefixes that it watches will be gone.", client.Name,
            cancellationToken);
        session.Screen.Say(
            $"Its key is gone; some {ClientOperations.RemovalPause.TotalSeconds:N0} seconds until no server knows it any more.");
        await operations.RemoveAsync(client.Name, cancellationToken);
        session.Screen.ShowResult(
            new ClientRemovedDocument(client.Name), Documents.Default.ClientRemovedDocument,
            $"{client.Name} is removed.");
    }
}
