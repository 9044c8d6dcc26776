namespace HibpIngest.Testing;

public abstract class CallbackClientsContract
{
    private static readonly CallbackClient Contoso = new()
    {
        Number = 4_711,
        Name = "Contoso's \"watch\"",
        Url = "https://contoso.example/breached?of=ours",
        IsSensitive = true,
        Cap = 16,
        SealedSecret = [0, 1, 254, 255],
        KeyHash = "00ff",
        CreatedAt = new DateTimeOffset(2026, 11, 23, 1, 2, 3, TimeSpan.Zero),
    };

    /// <summary>Returns a table that hasn't been created.</summary>
    protected abstract Task<ICallbackClients> NewTableAsync();

    [Fact]
    public async Task Client_is_added_once_and_changed_only_at_its_current_version()
    {
        var clients = await NewTableAsync();
        Assert.Empty(await clients.ListAsync(None));
        await clients.CreateAsync(None);
        await clients.CreateAsync(None);
        Assert.True(await clients.AddAsync(Contoso, None));
        Assert.False(await clients.AddAsync(Contoso with { Name = "another" }, None));
        Assert.True(await clients.AddAsync(Contoso with { Number = int.MaxValue, Name = "Alpha", IsSensitive = false }, None));

        var found = await clients.ListAsync(None);
        Assert.Equal(["Alpha", Contoso.Name], found.Select(client => client.Name));
        AssertSame(Contoso, found[1]);
        Assert.True(await clients.ChangeAsync(found[1] with { IsPaused = true, SealedSecret = [9] }, None));
        // A change based on an outdated read is refused.
        Assert.False(await clients.ChangeAsync(found[1] with { Cap = 1 }, None));
        var changed = (await clients.ListAsync(None))[1];
        AssertSame(Contoso with { IsPaused = true, SealedSecret = [9] }, changed);

        Assert.True(await clients.RemoveAsync(Contoso.Number, None));
        Assert.False(await clients.RemoveAsync(Contoso.Number, None));
        Assert.False(await clients.ChangeAsync(changed, None));
        Assert.Equal([int.MaxValue], (await clients.ListAsync(None)).Select(client => client.Number));
    }

    private static void AssertSame(CallbackClient expected, CallbackClient found)
    {
        Assert.Equal(expected.SealedSecret, found.SealedSecret);
        Assert.Equal(expected, found with { ETag = "", SealedSecret = expected.SealedSecret });
    }
}
