using HibpIngest.Api.Pages;
using HibpIngest.Api.Settings;

namespace HibpIngest.Tests.Api;

public sealed class PageTicketsTests
{
    private static readonly string Key = Convert.ToBase64String(new byte[32]);

    private readonly TestClock _clock = new();

    [Fact]
    public void Ticket_is_valid_for_its_network_for_ten_minutes_and_twenty_searches()
    {
        using var tickets = Tickets(Key);
        var ticket = tickets.Create("C0000201");
        Assert.False(tickets.TryUse(ticket, "C0000202"));
        for (var i = 0; i < PageTickets.MaxSearches; i++)
            Assert.True(tickets.TryUse(ticket, "C0000201"));
        Assert.False(tickets.TryUse(ticket, "C0000201"));

        var next = tickets.Create("C0000201");
        Assert.NotEqual(ticket, next);
        _clock.Advance(PageTickets.ValidFor - TimeSpan.FromSeconds(1));
        Assert.True(tickets.TryUse(next, "C0000201"));
        _clock.Advance(TimeSpan.FromSeconds(2));
        Assert.False(tickets.TryUse(next, "C0000201"));
    }

    [Fact]
    public void Ticket_is_accepted_by_each_process_with_the_key_and_by_no_other()
    {
        using var first = Tickets(Key);
        using var second = Tickets(Key);
        using var other = Tickets(Convert.ToBase64String(Enumerable.Repeat((byte)1, 32).ToArray()));
        using var own = Tickets(null);
        var ticket = first.Create("");
        Assert.True(second.TryUse(ticket, ""));
        Assert.False(other.TryUse(ticket, ""));
        Assert.False(own.TryUse(ticket, ""));
    }

    [Fact]
    public void Changed_ticket_is_refused()
    {
        using var tickets = Tickets(Key);
        var ticket = tickets.Create("").ToCharArray();
        // The last character holds bits that decode to nothing.
        for (var i = 0; i < ticket.Length - 1; i++)
        {
            var changed = (char[])ticket.Clone();
            changed[i] = changed[i] == 'A' ? 'B' : 'A';
            Assert.False(tickets.TryUse(new string(changed), ""), $"character {i}");
        }
        foreach (var text in (string?[])[null, "", "A", new string('A', 43), new string('!', 43), new string('A', 1_000)])
            Assert.False(tickets.TryUse(text, ""));
    }

    private PageTickets Tickets(string? key) => new(new PageKey(new ApiOptions { Web = new WebOptions { TicketKey = key } }), _clock);
}
