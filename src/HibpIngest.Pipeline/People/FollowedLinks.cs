using HibpIngest.People;
using HibpIngest.Pipeline.Subscribers;

namespace HibpIngest.Pipeline.People;

/// <summary>Applies the commands of links in mails. Each method returns why a command is ignored, or null.</summary>
public sealed class FollowedLinks(
    InstallationKeys keys, ISubscriptionRequests requests, RequestMails mails, SubscriberOperations subscribers, OptOutOperations optOuts,
    ProvenDomains domains, TimeProvider time)
{
    private const string NoEffect = "its link has no effect";

    public async Task<string?> VerifyAsync(PersonCommand command, CancellationToken cancellationToken)
    {
        // Found again by a redelivery, too: its request has become a subscription.
        var purpose = command.Kind == CommandKind.ConfirmDomain ? LinkPurpose.Domain : LinkPurpose.Verify;
        if (await FindAsync(command, purpose, cancellationToken) is not var (id, known))
            return NoEffect;
        var (email, domain) = known.Subscription;
        if (known.Key is { } key)
        {
            if (await domains.AddAsync(new DomainProof(key, domain!, known.Proof!.Value), cancellationToken) is { } reason)
                return reason;
            await requests.VerifySubscriptionAsync(command.Id, id, [], cancellationToken);
            return null;
        }
        string[] hashes = [keys.Suppression!.HashOf(email), .. domain is null ? (string[])[] : [keys.Suppression.HashOf(email, domain)]];
        // Only a request lifts a suppression: a verified address may have been suppressed since.
        if (!known.IsVerified)
        {
            foreach (var hash in hashes)
                await subscribers.DeleteSuppressionsAsync(hash, cancellationToken);
        }
        if (await requests.VerifySubscriptionAsync(command.Id, id, hashes, cancellationToken) is { } due)
            await mails.WelcomeAsync(command, due, domain, cancellationToken);
        return null;
    }

    public async Task<string?> UnsubscribeAsync(PersonCommand command, CancellationToken cancellationToken)
    {
        if (await FindAsync(command, LinkPurpose.Unsubscribe, cancellationToken) is not { Known.Subscription: var subscription })
            return NoEffect;
        await subscribers.RemoveAsync(
            [subscription.Email], subscription.Domain is { } domain ? [domain] : [], SuppressionReason.Unsubscribed, cancellationToken);
        return null;
    }

    public async Task<string?> OptOutAsync(PersonCommand command, CancellationToken cancellationToken)
    {
        var purpose = command.Level == OptOutLevel.All ? LinkPurpose.OptOutAll : LinkPurpose.OptOutPublic;
        if (await FindAsync(command, purpose, cancellationToken) is not { Known.Subscription: var subscription }
            || !AccountRules.TryParse(subscription.Email, out var account, out _))
        {
            return NoEffect;
        }
        await optOuts.SetAsync(
            new OptOut(account, purpose == LinkPurpose.OptOutAll ? OptOutLevel.All : OptOutLevel.Public), cancellationToken);
        return null;
    }

    /// <returns>Null if the token is not valid, or its request has expired.</returns>
    private async Task<(Guid Id, KnownSubscription Known)?> FindAsync(
        PersonCommand command, LinkPurpose purpose, CancellationToken cancellationToken) =>
        keys.Links!.Read(command.Token, purpose, time.GetUtcNow()) is { } id
        && await requests.FindSubscriptionAsync(id, cancellationToken) is { } known ? (id, known) : null;
}
