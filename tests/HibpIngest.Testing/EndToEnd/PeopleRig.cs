using HibpIngest.Delivery;
using HibpIngest.Hosting.Messages;
using HibpIngest.Messages;
using HibpIngest.People;
using HibpIngest.Pipeline.People;
using MimeKit;

namespace HibpIngest.Testing;

/// <summary>A pipeline that sends mails to a real SMTP server, and the web from which people send it commands.</summary>
internal sealed partial class PeopleRig : IAsyncDisposable
{
    public const string PublicAddress = "https://api.example";

    /// <summary>The link key.</summary>
    public static readonly string Key = Convert.ToBase64String(new byte[32]);

    private readonly INotificationSender _sender;

    private PeopleRig(PipelineRig pipeline, SmtpTestServer smtp)
    {
        (Pipeline, Smtp) = (pipeline, smtp);
        _sender = NotificationSenders.Create(smtp.Setting);
        Context = pipeline.Context with
        {
            Links = LinkTokens.Parse(Key),
            Commands = CommandKey.In(new KeyFile(Path.Combine(Path.GetDirectoryName(pipeline.DatabaseFile)!, "command.key"))),
            SuppressionKey = SuppressionKey.Parse(Key),
            Sender = _sender,
        };
        pipeline.Options.Site.WebUrl = PublicAddress;
        Sealer = CommandSealer.Parse(Context.Commands.PublicKey);
    }

    public PipelineRig Pipeline { get; }

    public SmtpTestServer Smtp { get; }

    /// <summary>The pipeline's services, with the keys.</summary>
    public PipelineParts Context { get; private set; }

    public CommandSealer Sealer { get; }

    public static PeopleRig Over(PipelineRig pipeline) => new(pipeline, new SmtpTestServer());

    public static async Task<PeopleRig> StartAsync(TimeProvider? time = null) => Over(await PipelineRig.StartAsync(time: time));

    public PeopleRig With(PipelineParts context)
    {
        Context = context;
        return this;
    }

    public Task<WebRig> StartWebAsync(int proxies = 0, string? dns = null) => WebRig.StartAsync(
        Pipeline.Connection,
        configure: web => (web.LinkKeys, web.CommandPublicKey, web.Proxies) = (Key, Context.Commands!.PublicKey, proxies),
        time: Pipeline.Time, dns: dns);

    /// <summary>Processes the waiting commands, and then every other message.</summary>
    public async Task RunToEndAsync()
    {
        await PipelineRig.PumpAsync(Context.Queues.Get(QueueNames.Commands), Context.Get<MessageDispatcher>());
        await PipelineRig.RunToEndAsync(Context);
    }

    /// <summary>Uploads a breach, and processes every message.</summary>
    public async Task DropAsync(string name, params string[] accounts)
    {
        await Pipeline.DropAsync($"{name}.zip", PipelineRig.Zip(("list.txt", string.Join('\n', accounts))));
        await RunToEndAsync();
    }

    /// <summary>Posts a form, and returns the page, which must have this title and not be cached.</summary>
    public static async Task<string> PostAsync(
        WebRig web, string path, string form, string title, params (string Name, string Value)[] headers)
    {
        var reply = await web.PostFormAsync(path, form, headers);
        Assert.True(reply.Status == 200, $"{path}: {reply}");
        Assert.Equal("no-store", reply.Header("Cache-Control"));
        Assert.Contains($"<h1>{title}</h1>", reply.Text, StringComparison.Ordinal);
        return reply.Text;
    }

    /// <summary>Posts a form, and processes every message.</summary>
    public async Task SubmitAsync(WebRig web, string path, string form, string title)
    {
        await PostAsync(web, path, form, title);
        await RunToEndAsync();
    }

    public async Task<IReadOnlyList<Subscription>> SubscribersAsync() =>
        await Context.Database.ListSubscribersAsync(CancellationToken.None).ToListAsync(CancellationToken.None);

    public Task HandleAsync(PersonCommand command) =>
        Context.Get<HandleCommand>().RunAsync(CommandMessage.Of(command, Sealer), CancellationToken.None);

    public PersonCommand Subscribe(string email, string network = "CB0071") =>
        New(CommandKind.Subscribe) with { Email = email, Network = network };

    public PersonCommand Follow(CommandKind kind, string link) =>
        New(kind) with { Token = link[(link.IndexOf("?t=", StringComparison.Ordinal) + 3)..] };

    /// <summary>Returns a command of now, with a new id.</summary>
    public PersonCommand New(CommandKind kind) => new(kind) { Id = Guid.NewGuid(), At = Pipeline.Time.GetUtcNow() };

    public IReadOnlyList<(string To, MimeMessage Mail)> Mails() =>
        [.. Smtp.Mails.Select(one => (one.To, MimeMessage.Load(new MemoryStream(one.Content))))];

    public MimeMessage LastMail() => Mails()[^1].Mail;

    /// <summary>Returns the path and query of a mail's link to a page.</summary>
    public static string LinkIn(MimeMessage mail, string page) =>
        Link().Matches(mail.TextBody!).Select(match => match.Value).Single(path => path.StartsWith($"/{page}?", StringComparison.Ordinal));

    /// <summary>Returns the path and query of the header to unsubscribe.</summary>
    public static string UnsubscribeIn(MimeMessage mail)
    {
        Assert.Equal("List-Unsubscribe=One-Click", mail.Headers[HeaderId.ListUnsubscribePost]);
        var header = mail.Headers[HeaderId.ListUnsubscribe];
        Assert.StartsWith($"<{PublicAddress}/unsubscribe?t=", header, StringComparison.Ordinal);
        return header!.Trim('<', '>')[PublicAddress.Length..];
    }

    public async ValueTask DisposeAsync()
    {
        await _sender.DisposeAsync();
        await Smtp.DisposeAsync();
        await Pipeline.DisposeAsync();
    }

    [GeneratedRegex(@"(?<=https://api\.example)/[\w/]+\?t=[\w-]+", RegexOptions.None, 60_000)]
    private static partial Regex Link();
}
