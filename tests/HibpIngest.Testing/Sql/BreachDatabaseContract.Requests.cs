namespace HibpIngest.Testing;

public abstract partial class BreachDatabaseContract
{
    private static readonly TimeSpan Week = TimeSpan.FromDays(7);
    private static readonly MailLimit[] OnePerHour = [new("address", TimeSpan.FromHours(1), 1)];

    [Fact]
    public async Task Request_becomes_a_subscription_when_it_is_verified()
    {
        var due = await RequestAsync(Guid.NewGuid());
        Assert.Equal("user1@example.com", due.Email);
        Assert.Empty(await ListAsync());
        Assert.Equal(new(new("user1@example.com", null), IsVerified: false), await Database.FindSubscriptionAsync(due.Subscription, None));
        await Database.RemoveSubscribersAsync(
            [new("x@y.example", null, new(Hashes.HashOf(due.Email), SuppressionReason.Unsubscribed, Now))], Hashes.Check, erase: false,
            None);

        var verify = Guid.NewGuid();
        Assert.Null(await Database.VerifySubscriptionAsync(verify, Guid.NewGuid(), [Hashes.HashOf(due.Email)], None));
        Assert.Equal(due, await Database.VerifySubscriptionAsync(verify, due.Subscription, [Hashes.HashOf(due.Email)], None));

        Assert.Equal([new("user1@example.com", null)], await ListAsync());
        Assert.Empty(await Database.ListSuppressionsAsync(None));
        Assert.Equal(new(new("user1@example.com", null), IsVerified: true), await Database.FindSubscriptionAsync(due.Subscription, None));
        // The subscription is matched like an imported one, and its notifications carry its id.
        var load = await MatchedAsync(Numbered(5));
        Assert.Equal(due.Subscription, (await NotificationsAsync(load.Id)).Single().Subscription);
        // A redelivered command returns its mail until the mail is recorded; a new command finds no request.
        Assert.Equal(due, await Database.VerifySubscriptionAsync(verify, due.Subscription, [Hashes.HashOf(due.Email)], None));
        await Database.RecordCommandMailAsync(verify, None);
        Assert.Null(await Database.VerifySubscriptionAsync(verify, due.Subscription, [Hashes.HashOf(due.Email)], None));
        Assert.Null(await Database.VerifySubscriptionAsync(Guid.NewGuid(), due.Subscription, [Hashes.HashOf(due.Email)], None));
    }

    [Fact]
    public async Task Request_counts_against_the_mail_limit_once_per_command()
    {
        var command = Guid.NewGuid();
        var due = await RequestAsync(command);
        Assert.Equal(due, await RequestAsync(command));
        await Database.RecordCommandMailAsync(command, None);
        Assert.Equal(new RequestOutcome(null), await Database.RequestSubscriptionAsync(command, new(due.Email), OnePerHour, Week, None));
        Assert.Equal(
            new RequestOutcome(null, OnePerHour[0]),
            await Database.RequestSubscriptionAsync(Guid.NewGuid(), new(due.Email), OnePerHour, Week, None));
        var twoPerWeek = new MailLimit("address", Week, 2);
        Assert.Equal(
            new RequestOutcome(due), await Database.RequestSubscriptionAsync(Guid.NewGuid(), new(due.Email), [twoPerWeek], Week, None));
        Assert.Equal(
            new RequestOutcome(null, twoPerWeek),
            await Database.RequestSubscriptionAsync(Guid.NewGuid(), new(due.Email), [twoPerWeek], Week, None));
    }

    [Fact]
    public async Task Subscribed_address_keeps_its_id_when_it_is_requested_again()
    {
        await ImportAsync("user1@example.com", "user2@example.com");
        var load = await MatchedAsync(Numbered(5));
        var ids = (await NotificationsAsync(load.Id)).ToDictionary(one => one.Email, one => one.Subscription);
        Assert.NotEqual(ids["user1@example.com"], ids["user2@example.com"]);

        var due = await RequestAsync(Guid.NewGuid());

        Assert.Equal(ids["user1@example.com"], due.Subscription);
        Assert.Equal(due, await Database.VerifySubscriptionAsync(Guid.NewGuid(), due.Subscription, [], None));
        Assert.Equal(2, (await ListAsync()).Count);
    }

    [Fact]
    public async Task Removal_of_an_address_deletes_its_request()
    {
        foreach (var hashed in (bool[])[false, true])
        {
            var due = (await Database.RequestSubscriptionAsync(Guid.NewGuid(), new("user1@example.com"), [], Week, None)).Due!;
            var suppression = new Suppression(Hashes.HashOf(due.Email), SuppressionReason.Forgotten, Now);
            await (hashed ? Database.ApplySuppressionsAsync([suppression], Hashes, erase: true, None)
                : Database.RemoveSubscribersAsync([new(due.Email, null, suppression)], Hashes.Check, erase: true, None));
            Assert.Null(await Database.FindSubscriptionAsync(due.Subscription, None));
            Assert.Null(await Database.VerifySubscriptionAsync(Guid.NewGuid(), due.Subscription, [suppression.Hash], None));
            Assert.Equal([suppression], await Database.FindSuppressionsAsync([suppression.Hash, Hashes.HashOf("a@b.example")], None));
        }
    }

    [Fact]
    public async Task Requests_and_mail_limits_expire()
    {
        var month = new MailLimit("month", TimeSpan.FromDays(30), 1);
        var first = await RequestAsync(Guid.NewGuid(), OnePerHour[0], month);
        Time.Advance(TimeSpan.FromMinutes(59));
        Assert.Equal(OnePerHour[0], await ReachedAsync(OnePerHour[0]));
        Time.Advance(TimeSpan.FromMinutes(1));
        Assert.Equal(month, await ReachedAsync(OnePerHour[0], month));
        Time.Advance(Week - TimeSpan.FromHours(1));
        Assert.Null(await Database.FindSubscriptionAsync(first.Subscription, None));
        Assert.Null(await Database.VerifySubscriptionAsync(Guid.NewGuid(), first.Subscription, [], None));
        Assert.NotEqual(first.Subscription, (await RequestAsync(Guid.NewGuid(), OnePerHour)).Subscription);
        Time.Advance(TimeSpan.FromDays(23) - TimeSpan.FromMilliseconds(1));
        Assert.Equal(month, await ReachedAsync(month));
        Time.Advance(TimeSpan.FromMilliseconds(1));
        await Database.DeleteExpiredRequestsAsync(None);
        Assert.Null(await ReachedAsync(month));

        async Task<MailLimit?> ReachedAsync(params MailLimit[] limits) =>
            (await Database.RequestSubscriptionAsync(Guid.NewGuid(), new("user1@example.com"), limits, Week, None)).Reached;
    }

    [Fact]
    public async Task Failed_check_keeps_the_first_failure_time_and_a_check_of_a_replaced_proof_is_ignored()
    {
        DomainProof proof = new(DomainProof.HolderOf(Guid.NewGuid()), "example.net", ProofKind.Webmaster);
        var start = Time.GetUtcNow();
        await Database.PutProofAsync(proof, None);
        Time.Advance(Week);
        await Database.RecordCheckAsync(new CheckedProof(proof, start, null), succeeded: false, None);
        Time.Advance(Week);
        var failed = new CheckedProof(proof, start, start + Week);
        await Database.RecordCheckAsync(failed, succeeded: false, None);
        Assert.Equal([failed], await Database.ListProofsAsync(None));
        await Database.RecordCheckAsync(failed, succeeded: true, None);
        var succeeded = new CheckedProof(proof, start + Week + Week, null);
        Assert.Equal([succeeded], await Database.ListProofsAsync(None));

        DomainProof deleted = new(new string('a', 64), "example.com", ProofKind.Dns);
        await Database.PutProofAsync(deleted, None);
        await Database.DeleteProofAsync(deleted.Holder, deleted.Domain, None);
        Assert.Equal([succeeded], await Database.ListProofsAsync(None));

        Time.Advance(Week);
        await Database.PutProofAsync(proof with { Kind = ProofKind.File }, None);
        var replaced = new CheckedProof(proof with { Kind = ProofKind.File }, Now, null);
        Assert.Equal([replaced], await Database.ListProofsAsync(None));
        // The results of a check that started before the proof was replaced.
        await Database.RecordCheckAsync(succeeded, succeeded: false, None);
        Assert.False(await Database.EndProofAsync(succeeded, None));
        Assert.Equal([replaced], await Database.ListProofsAsync(None));
    }

    [Fact]
    public async Task Ending_a_proof_removes_its_subscription_and_keeps_a_pending_renewal()
    {
        await ImportAsync("user2@example.com");
        var wanted = new SubscriptionRequest("user1@example.com", "example.com", ProofKind.Dns);
        var due = (await Database.RequestSubscriptionAsync(Guid.NewGuid(), wanted, [], Week, None)).Due!;
        await Database.VerifySubscriptionAsync(Guid.NewGuid(), due.Subscription, [], None);
        var load = await MatchedAsync(Numbered(5));
        Assert.Equal(2, (await NotificationsAsync(load.Id)).Count);
        await Database.RequestSubscriptionAsync(Guid.NewGuid(), wanted, [], Week, None);

        var listed = Assert.Single(await Database.ListProofsAsync(None));
        Assert.True(await Database.EndProofAsync(listed, None));

        Assert.False(await Database.EndProofAsync(listed, None));
        Assert.Equal([new("user2@example.com", null)], await ListAsync());
        Assert.Equal("user2@example.com", Assert.Single(await NotificationsAsync(load.Id)).Email);
        Assert.Equal(due, await Database.VerifySubscriptionAsync(Guid.NewGuid(), due.Subscription, [], None));
        Assert.Equal(2, (await ListAsync()).Count);
    }

    [Fact]
    public async Task Check_is_counted_once_for_each_command()
    {
        var command = Guid.NewGuid();
        Assert.True(await Database.CountCheckAsync(command, OnePerHour, None));
        Assert.True(await Database.CountCheckAsync(command, OnePerHour, None));
        Assert.False(await Database.CountCheckAsync(Guid.NewGuid(), OnePerHour, None));
        Time.Advance(TimeSpan.FromHours(1));
        Assert.True(await Database.CountCheckAsync(Guid.NewGuid(), OnePerHour, None));
    }

    [Fact]
    public async Task Request_of_a_domain_becomes_a_subscription_with_a_proof_that_keeps_its_id_until_removed()
    {
        var wanted = new SubscriptionRequest("admin@example.com", "example.com", ProofKind.Dns);
        var own = await RequestAsync(Guid.NewGuid(), new MailLimit("sign-in", Week, 10));
        var due = (await Database.RequestSubscriptionAsync(Guid.NewGuid(), wanted, [], Week, None)).Due!;
        Assert.NotEqual(own.Subscription, due.Subscription);
        Assert.Equal(
            due.Subscription,
            (await Database.RequestSubscriptionAsync(Guid.NewGuid(), wanted with { Proof = ProofKind.File }, [], Week, None)).Due!
                .Subscription);
        Assert.Equal(new RequestOutcome(null), await SignInAsync(new MailLimit("sign-in", Week, 0)));
        Assert.Equal(
            new KnownSubscription(new(wanted.Email, wanted.Domain), IsVerified: false, ProofKind.File),
            await Database.FindSubscriptionAsync(due.Subscription, None));

        Assert.Equal(due, await Database.VerifySubscriptionAsync(Guid.NewGuid(), due.Subscription, [], None));

        Assert.Equal([new(wanted.Email, wanted.Domain)], await ListAsync());
        var holder = DomainProof.HolderOf(due.Subscription);
        Assert.Equal(new DomainProof(holder, "example.com", ProofKind.File), Assert.Single(await Database.ListProofsAsync(None)).Proof);
        Assert.Equal(due, (await SignInAsync()).Due);

        Assert.Equal(due, (await Database.RequestSubscriptionAsync(Guid.NewGuid(), wanted, [], Week, None)).Due);
        await Database.RemoveSubscribersAsync([new(wanted.Email, wanted.Domain, null)], null, erase: false, None);
        Assert.Null(await Database.FindSubscriptionAsync(due.Subscription, None));
        Assert.NotNull(await Database.FindSubscriptionAsync(own.Subscription, None));

        Task<RequestOutcome> SignInAsync(params MailLimit[] limits) =>
            Database.RequestSignInAsync(Guid.NewGuid(), wanted.Email, "example.com", limits, None);
    }

    [Fact]
    public async Task Domain_request_for_an_API_key_is_deleted_when_confirmed()
    {
        var key = new string('b', 64);
        var wanted = new SubscriptionRequest("security@example.com", "example.com", ProofKind.Security, key);
        var due = (await Database.RequestSubscriptionAsync(Guid.NewGuid(), wanted, [], Week, None)).Due!;
        Assert.Equal(
            new KnownSubscription(new(wanted.Email, wanted.Domain), IsVerified: false, ProofKind.Security, key),
            await Database.FindSubscriptionAsync(due.Subscription, None));

        Assert.Null(await Database.VerifySubscriptionAsync(Guid.NewGuid(), due.Subscription, [], None));

        Assert.Empty(await ListAsync());
        Assert.Null(await Database.FindSubscriptionAsync(due.Subscription, None));
        Assert.Empty(await Database.ListProofsAsync(None));
    }

    private Task<MailDue> RequestAsync(Guid command) => RequestAsync(command, OnePerHour);

    private async Task<MailDue> RequestAsync(Guid command, params MailLimit[] limits) =>
        (await Database.RequestSubscriptionAsync(command, new("user1@example.com"), limits, Week, None)).Due!;
}
