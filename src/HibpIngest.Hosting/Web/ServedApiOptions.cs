using HibpIngest.Passwords;
using HibpIngest.Web;

namespace HibpIngest.Hosting.Web;

/// <summary>How a host serves the API.</summary>
public record ServedApiOptions
{
    /// <summary>On this machine, for this machine.</summary>
    public const string DefaultUrl = "http://127.0.0.1:8080";

    /// <summary>Nobody needs a key; for a server that only this machine reaches.</summary>
    public bool IsOpen { get; init; }

    /// <summary>Every request is logged before it is answered: on a host that may stop or freeze a process after an answer.</summary>
    public bool IsAllDurable { get; init; }

    /// <summary>Where people reach it; what links are made of (HIBP_WEB_URL).</summary>
    public string Address { get; init; } = DefaultUrl;

    /// <summary>How it answers.</summary>
    public WebOptions Web { get; init; } = new();

    /// <summary>How it serves Pwned Passwords.</summary>
    public PasswordOptions Passwords { get; init; } = new();
}
