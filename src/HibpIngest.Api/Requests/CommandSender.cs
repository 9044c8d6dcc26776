using HibpIngest.People;

namespace HibpIngest.Api.Requests;

/// <summary>The web app can't look up a subscriber, so every caller gets the same response in the same time.</summary>
internal sealed class CommandSender(IMessageQueues queues, ApiOptions options, TimeProvider time)
{
    private readonly CommandSealer _sealer = CommandSealer.Parse(options.Web.CommandPublicKey!);

    public LinkTokens Links { get; } = LinkTokens.Parse(options.Web.LinkKeys)!;

    /// <exception cref="HibpException">The queue can't be reached; the caller gets a page or an error that says so.</exception>
    public Task SendAsync(HttpContext context, PersonCommand command, CancellationToken cancellationToken) => queues.SendAsync(
        CommandMessage.Of(
            command with
            {
                Id = Guid.NewGuid(),
                At = time.GetUtcNow(),
                Network = CallerAddress.NetworkOf(CallerAddress.Of(context, options.Web.Proxies)),
            },
            _sealer),
        TimeSpan.Zero, cancellationToken);
}
