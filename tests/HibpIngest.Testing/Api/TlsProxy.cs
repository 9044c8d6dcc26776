using System.Collections.Concurrent;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace HibpIngest.Testing;

/// <summary>
/// A proxy for clients with a fixed server name that require TLS: it presents a certificate of its own for that name,
/// and forwards the decrypted requests to a server over plain HTTP. Other names get a 403.
/// </summary>
internal sealed class TlsProxy : IAsyncDisposable
{
    private const int MaxHeadBytes = 8192;

    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly CancellationTokenSource _stop = new();
    private readonly ConcurrentDictionary<Task, bool> _tunnels = new();
    private readonly X509Certificate2 _certificate;
    private readonly string _name;
    private readonly Uri _server;
    private readonly Task _accepting;

    /// <param name="name">The host name it serves.</param>
    /// <param name="server">Receives the requests.</param>
    public TlsProxy(string name, Uri server)
    {
        (_name, _server) = (name, server);
        using var key = RSA.Create(2048);
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, false, 0, true));
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName(name);
        request.CertificateExtensions.Add(names.Build());
        using var made = request.CreateSelfSigned(DateTimeOffset.UnixEpoch, DateTimeOffset.UnixEpoch.AddYears(200));
        // Re-imported with a key that every system's TLS accepts.
        _certificate = X509CertificateLoader.LoadPkcs12(made.Export(X509ContentType.Pkcs12), password: null);
        CertificatePem = made.ExportCertificatePem();
        _listener.Start();
        _accepting = AcceptAsync();
    }

    /// <summary>The certificate that a client must trust.</summary>
    public string CertificatePem { get; }

    public Uri Address => new($"http://{_listener.LocalEndpoint}");

    /// <summary>The number of connections forwarded.</summary>
    public int Tunnels => _tunnels.Count;

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        _listener.Stop();
        await _accepting;
        await Task.WhenAll(_tunnels.Keys);
        _certificate.Dispose();
        _stop.Dispose();
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
                _tunnels[TunnelAsync(await _listener.AcceptTcpClientAsync(_stop.Token))] = true;
        }
        catch (Exception e) when (e is OperationCanceledException or SocketException or ObjectDisposedException)
        {
            // The proxy is stopping.
        }
    }

    private async Task TunnelAsync(TcpClient client)
    {
        using var mine = client;
        try
        {
            var stream = client.GetStream();
            var isOurs = (await HeadAsync(stream)).StartsWith($"CONNECT {_name}:443 ", StringComparison.OrdinalIgnoreCase);
            await stream.WriteAsync(
                Encoding.ASCII.GetBytes($"HTTP/1.1 {(isOurs ? "200 Connection established" : "403 Forbidden")}\r\n\r\n"), _stop.Token);
            if (!isOurs)
                return;
            await using var tls = new SslStream(stream);
            await tls.AuthenticateAsServerAsync(new SslServerAuthenticationOptions { ServerCertificate = _certificate }, _stop.Token);
            using var server = new TcpClient();
            await server.ConnectAsync(_server.Host, _server.Port, _stop.Token);
            var inside = server.GetStream();
            // The first side to close ends both, as on a connection that isn't kept alive.
            await await Task.WhenAny(tls.CopyToAsync(inside, _stop.Token), inside.CopyToAsync(tls, _stop.Token));
        }
        catch (Exception e) when (e is OperationCanceledException or IOException or SocketException)
        {
            // The client has disconnected, or the proxy is stopping; the client reports what it missed.
        }
    }

    private async Task<string> HeadAsync(NetworkStream stream)
    {
        var head = new StringBuilder();
        var one = new byte[1];
        while (head.Length < MaxHeadBytes && await stream.ReadAsync(one, _stop.Token) > 0)
        {
            head.Append((char)one[0]);
            if (one[0] == '\n' && head.ToString().EndsWith("\r\n\r\n", StringComparison.Ordinal))
                break;
        }
        return head.ToString();
    }
}
