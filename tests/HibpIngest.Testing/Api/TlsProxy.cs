using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;

namespace HibpIngest.Testing;

/// <summary>
/// An HTTP CONNECT proxy for one host name, for which it terminates TLS and forwards to a server over plain HTTP. Other names get a 403.
/// </summary>
internal sealed class TlsProxy : IAsyncDisposable
{
    private readonly X509Certificate2 _certificate;
    private readonly string _name;
    private readonly Uri _server;
    private readonly LoopbackListener _listener;
    private int _tunnels;

    public TlsProxy(string name, Uri server)
    {
        (_name, _server) = (name, server);
        _certificate = SmtpTestServer.CreateCertificate(name);
        _listener = new LoopbackListener(TunnelAsync);
    }

    public string CertificatePem => _certificate.ExportCertificatePem();

    public Uri Address => new($"http://127.0.0.1:{_listener.Port}");

    /// <summary>Number of CONNECT requests, refused ones included.</summary>
    public int Tunnels => Volatile.Read(ref _tunnels);

    public async ValueTask DisposeAsync()
    {
        await _listener.DisposeAsync();
        _certificate.Dispose();
    }

    private async Task TunnelAsync(TcpClient client, CancellationToken stopping)
    {
        Interlocked.Increment(ref _tunnels);
        var stream = client.GetStream();
        // Buffers nothing beyond the head: the client sends more only after the response.
        var reader = new StreamReader(stream, Encoding.ASCII);
        var isOurs = (await reader.ReadLineAsync(stopping))?.StartsWith($"CONNECT {_name}:443 ", StringComparison.OrdinalIgnoreCase);
        while (await reader.ReadLineAsync(stopping) is { Length: > 0 })
        {
            // A header.
        }
        await stream.WriteAsync(
            Encoding.ASCII.GetBytes($"HTTP/1.1 {(isOurs == true ? "200 Connection established" : "403 Forbidden")}\r\n\r\n"), stopping);
        if (isOurs != true)
            return;
        await using var tls = new SslStream(stream);
        await tls.AuthenticateAsServerAsync(new SslServerAuthenticationOptions { ServerCertificate = _certificate }, stopping);
        using var server = new TcpClient();
        await server.ConnectAsync(_server.Host, _server.Port, stopping);
        var inside = server.GetStream();
        // The first side to close ends both, as on a connection that isn't kept alive.
        await await Task.WhenAny(tls.CopyToAsync(inside, stopping), inside.CopyToAsync(tls, stopping));
    }
}
