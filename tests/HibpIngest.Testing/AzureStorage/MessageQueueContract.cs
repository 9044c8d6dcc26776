namespace HibpIngest.Testing;

public abstract class MessageQueueContract
{
    private static readonly TimeSpan Long = TimeSpan.FromMinutes(5);

    /// <summary>Returns an existing, empty queue.</summary>
    protected abstract Task<IMessageQueue> NewQueueAsync();

    [Fact]
    public async Task Message_body_round_trips_and_delete_removes_it()
    {
        var queue = await NewQueueAsync();
        await queue.CreateAsync(None);
        const string Body = """{"v":1,"text":"<äöü €> & \"quoted\" \n"}""";
        await queue.SendAsync(Body, TimeSpan.Zero, None);
        var message = Assert.Single(await queue.ReceiveAsync(32, Long, None));
        Assert.Equal(Body, message.Body);
        Assert.Equal(1, message.DequeueCount);
        Assert.Equal(1, (await queue.GetDepthAsync(None)).Messages);
        await queue.DeleteAsync(message, None);
        await queue.DeleteAsync(message, None);
        Assert.Equal(new QueueDepth(0, null), await queue.GetDepthAsync(None));
    }

    [Fact]
    public async Task Delayed_message_counts_but_is_not_visible()
    {
        var queue = await NewQueueAsync();
        await queue.SendAsync("{}", TimeSpan.FromDays(6.9), None);
        Assert.Empty(await queue.ReceiveAsync(1, Long, None));
        Assert.Empty(await queue.PeekAsync(1, None));
        Assert.Equal(new QueueDepth(1, null), await queue.GetDepthAsync(None));
        await queue.ClearAsync(None);
        Assert.Equal(0, (await queue.GetDepthAsync(None)).Messages);
    }

    [Fact]
    public async Task Message_is_invisible_until_its_delay_ends()
    {
        var queue = await NewQueueAsync();
        var began = Stopwatch.GetTimestamp();
        var delay = TimeSpan.FromSeconds(1.8);
        await queue.SendAsync("{}", delay, None);
        QueuedMessage? message;
        while ((message = (await queue.ReceiveAsync(1, Long, None)).FirstOrDefault()) is null)
            await Task.Yield();
        Assert.True(Stopwatch.GetElapsedTime(began) >= delay, $"it was seen after {Stopwatch.GetElapsedTime(began)}");
        began = Stopwatch.GetTimestamp();
        Assert.NotNull(await queue.ExtendAsync(message, delay, None));
        while ((await queue.ReceiveAsync(1, Long, None)).Count == 0)
            await Task.Yield();
        Assert.True(Stopwatch.GetElapsedTime(began) >= delay, $"it was seen again after {Stopwatch.GetElapsedTime(began)}");
    }

    [Fact]
    public async Task Received_messages_are_hidden_and_peeked_ones_are_not()
    {
        var queue = await NewQueueAsync();
        for (var i = 0; i < 40; i++)
            await queue.SendAsync($$"""{"n":{{i}}}""", TimeSpan.Zero, None);
        var depth = await queue.GetDepthAsync(None);
        Assert.Equal(40, depth.Messages);
        Assert.InRange(depth.Oldest!.Value, TimeSpan.Zero, TimeSpan.FromMinutes(1));
        var peeked = await queue.PeekAsync(100, None);
        Assert.Equal(32, peeked.Count);
        Assert.All(peeked, message => Assert.Equal("", message.Receipt));
        var first = await queue.ReceiveAsync(100, Long, None);
        var second = await queue.ReceiveAsync(32, Long, None);
        Assert.Equal((32, 8), (first.Count, second.Count));
        Assert.Equal(
            Enumerable.Range(0, 40).Select(i => $$"""{"n":{{i}}}""").Order(), first.Concat(second).Select(message => message.Body).Order());
        Assert.Empty(await queue.ReceiveAsync(32, Long, None));
    }

    [Fact]
    public async Task Extending_a_message_changes_its_receipt_and_keeps_its_body()
    {
        var queue = await NewQueueAsync();
        await queue.SendAsync("""{"v":1}""", TimeSpan.Zero, None);
        var message = Assert.Single(await queue.ReceiveAsync(1, Long, None));
        var extended = await queue.ExtendAsync(message, Long, None);
        Assert.NotNull(extended);
        Assert.Equal((message.Id, message.Body), (extended.Id, extended.Body));
        Assert.NotEqual(message.Receipt, extended.Receipt);

        // The old receipt can neither delete nor extend the message.
        Assert.Null(await queue.ExtendAsync(message, Long, None));
        await queue.DeleteAsync(message, None);
        Assert.Equal(1, (await queue.GetDepthAsync(None)).Messages);

        // A message made visible at once is redelivered with its body and a higher dequeue count.
        Assert.NotNull(await queue.ExtendAsync(extended, TimeSpan.Zero, None));
        var again = Assert.Single(await queue.ReceiveAsync(1, Long, None));
        Assert.Equal(("""{"v":1}""", 2), (again.Body, again.DequeueCount));
        await queue.DeleteAsync(again, None);
        Assert.Null(await queue.ExtendAsync(again, Long, None));
    }
}
