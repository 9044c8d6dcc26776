using HibpIngest.Api.Pages;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.WebUtilities;

namespace HibpIngest.Tests.Api;

public sealed class BreachListTests
{
    private static readonly IReadOnlyList<PublicBreach> All =
    [
        Breach("Alpha", 2013, added: 1, accounts: 10, "Passwords"), Breach("Beta", 2015, added: 3, accounts: 30, "Phone numbers"),
        Breach("Gamma", 2013, added: 2, accounts: 20, "Passwords", "Phone numbers"), Breach("Omega", null, added: 4, accounts: 5),
    ];

    [Theory]
    [InlineData("", "Omega,Beta,Gamma,Alpha")]
    [InlineData("?sort=added", "Omega,Beta,Gamma,Alpha")]
    [InlineData("?sort=date", "Beta,Alpha,Gamma,Omega")]
    [InlineData("?sort=size", "Beta,Gamma,Alpha,Omega")]
    [InlineData("?sort=title", "Alpha,Beta,Gamma,Omega")]
    [InlineData("?sort=title&year=2013", "Alpha,Gamma")]
    [InlineData("?sort=title&data=Phone%20numbers", "Beta,Gamma")]
    [InlineData("?sort=title&year=2013&data=Phone%20numbers", "Gamma")]
    [InlineData("?sort=x&year=1066&data=x&page=-1", "Omega,Beta,Gamma,Alpha")]
    public void Query_selects_and_sorts_breaches(string query, string names)
    {
        var list = BreachList.Of(All, Query(query));
        Assert.Equal(names, string.Join(',', list.Shown.Select(breach => breach.Name)));
        Assert.Equal((list.Shown.Count, All.Count, 1), (list.Found, list.All, list.Pages));
        Assert.Equal([2015, 2013], list.Years);
        Assert.Equal(["Passwords", "Phone numbers"], list.DataClasses);
    }

    [Fact]
    public void List_is_paged_and_its_addresses_keep_the_filters()
    {
        var many = Enumerable.Range(0, 250).Select(i => Breach($"Breach{i:D3}", 2020, i, i, "Passwords")).ToList();
        var list = BreachList.Of(many, Query("?sort=title&year=2020&data=Passwords&page=3"));
        Assert.Equal((3, 3, 50, "Breach200"), (list.Page, list.Pages, list.Shown.Count, list.Shown[0].Name));
        Assert.Equal("/breaches?sort=title&year=2020&data=Passwords&page=2", list.AddressOf(2));
        Assert.Equal(3, BreachList.Of(many, Query("?page=99")).Page);
    }

    [Theory]
    [InlineData("Adobe", "A")]
    [InlineData("Tailspin collection", "TC")]
    [InlineData("the-big_one", "TB")]
    [InlineData("\"Quoted\" (2013)", "Q2")]
    [InlineData("ångström", "Å")]
    [InlineData("!!!", "?")]
    [InlineData("", "?")]
    public void Badge_has_the_initials_of_a_title(string title, string initials) => Assert.Equal(initials, BreachText.Initials(title));

    private static QueryCollection Query(string query) => new(QueryHelpers.ParseQuery(query));

    private static PublicBreach Breach(string name, int? year, int added, int accounts, params string[] classes) => new()
    {
        Name = name,
        Title = name,
        BreachDate = year is { } known ? new DateOnly(known, 1, 1) : null,
        AddedDate = DateTimeOffset.UnixEpoch.AddDays(added),
        PwnCount = accounts,
        DataClasses = classes,
    };
}
