namespace HibpIngest.Cli.Samples;

/// <summary>Account i is a function of (seed, i) alone and differs from every other of that seed. No real address is intended.</summary>
internal sealed class SampleAccounts(int seed)
{
    /// <summary>Maximum index: 36 bits, 16 for style and names, 20 for the number.</summary>
    public const long MaxIndex = (1L << (2 * HalfBits)) - 1;

    public const int MaxBytes = 80;

    private const int HalfBits = 18;
    private const ulong HalfMask = (1 << HalfBits) - 1;

    private static readonly byte[][] FirstNames = Words(
        "james mary robert anna john maria michael julia david laura william emma thomas sofia daniel elena peter nina martin clara "
        + "stefan lucia andreas eva marco paula luca sara jan petra pavel olga ivan irina sergey natalia jose carmen juan rosa pedro ana "
        + "carlos ines ahmed fatima omar leila wei mei hiroshi yuki raj priya arjun asha kim minh linh tomas rita niels ingrid bjorn", 64);

    private static readonly byte[][] LastNames = Words(
        "smith jones brown taylor wilson davies evans walker wright hall green wood clarke lewis young king baker hill moore cooper ward "
        + "turner morris parker cook bell bailey murphy kelly ryan byrne schmidt mueller schneider fischer weber meyer wagner becker "
        + "schulz hoffmann koch bauer richter klein wolf neumann schwarz zimmermann braun hartmann lange krause lehmann martin bernard "
        + "dubois petit durand leroy moreau simon laurent michel garcia roux fournier girard bonnet rossi russo ferrari esposito bianchi "
        + "romano colombo ricci marino greco bruno gallo conti costa mancini garciaz gonzalez rodriguez fernandez lopez martinez sanchez "
        + "perez gomez ruiz diaz moreno alvarez romero navarro torres ramos silva santos oliveira souza pereira lima carvalho almeida "
        + "ribeiro gomes ivanov petrov sidorov volkov popov sokolov lebedev kozlov novak svoboda dvorak kowalski nowak wisniewski "
        + "kaminski jansen devries bakker visser smit meijer andersson johansson karlsson nilsson hansen larsen olsen sato suzuki "
        + "takahashi tanaka ito watanabe yamamoto nakamura kobayashi wang li zhang liu chen yang huang zhao wu zhou nguyen tran le pham "
        + "kumar singh sharma patel gupta khan ali hussein hassan yilmaz kaya demir sahin", 256);

    // Relative shares, roughly those of consumer breaches: a few large providers, then regional ones, then the long tail.
    private static readonly (byte[] Domain, int Share)[] Providers =
    [
        .. new (string Domain, int Share)[]
        {
            ("gmail.com", 350), ("yahoo.com", 120), ("hotmail.com", 110), ("outlook.com", 40), ("aol.com", 25), ("icloud.com", 20),
            ("live.com", 15), ("msn.com", 10), ("comcast.net", 10), ("mail.ru", 30), ("yandex.ru", 15), ("rambler.ru", 6), ("gmx.de", 15),
            ("web.de", 14), ("t-online.de", 7), ("freenet.de", 4), ("gmx.net", 5), ("hotmail.co.uk", 8), ("yahoo.co.uk", 8),
            ("btinternet.com", 5), ("orange.fr", 9), ("free.fr", 6), ("wanadoo.fr", 5), ("laposte.net", 3), ("hotmail.fr", 6),
            ("libero.it", 7), ("virgilio.it", 2), ("hotmail.it", 4), ("yahoo.it", 3), ("wp.pl", 5), ("o2.pl", 4), ("onet.pl", 3),
            ("seznam.cz", 4), ("uol.com.br", 5), ("bol.com.br", 3), ("yahoo.com.br", 5), ("qq.com", 12), ("163.com", 8), ("126.com", 4),
            ("naver.com", 4), ("yahoo.co.jp", 5), ("rediffmail.com", 3), ("yahoo.co.in", 4), ("bigpond.com", 2), ("ziggo.nl", 2),
            ("hotmail.es", 4), ("abv.bg", 2), ("protonmail.com", 3),
        }.Select(provider => (Encoding.ASCII.GetBytes(provider.Domain), provider.Share)),
    ];

    private static readonly byte[][] CompanyWords = Words(
        "contoso fabrikam northwind tailspin woodgrove litware adatum proseware trey wingtip lucerne margie alpine coho blueyonder "
        + "southridge fourth graphic humongous relecloud vanarsdel datum nod bellows consolidated firstup lamna munson olympia parnell "
        + "terra wide", 32);

    private static readonly byte[][] TailEndings = Words(
        ".com .com .com .com .com .com .net .net .org .org .de .de .co.uk .co.uk .fr .it .nl .es .pl .ru .com.br .com.au .ca .in .ch .at "
        + ".se .no .dk .fi .be .cz .eu .io .info .biz .us .jp .co.jp .kr .cn .com.mx .co.za .com.tr .gr .pt .hu .ro .ie .co.nz .ac.uk "
        + ".edu .gov .k12.ny.us .museum .travel .online .xyz .shop .app .dev .cloud .berlin .xn--p1ai", 64);

    private const int ProviderPercent = 82;
    private static readonly int ProviderShares = Providers.Sum(provider => provider.Share);

    private readonly ulong _key = SplitMix64.Mix((uint)seed + 1UL);

    public int Write(long index, Span<byte> destination)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(index);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(index, MaxIndex);
        var shuffled = Shuffle((ulong)index);
        var style = (int)(shuffled & 3);
        var first = FirstNames[(int)(shuffled >> 2) & 63];
        var last = LastNames[(int)(shuffled >> 8) & 255];
        var number = (int)(shuffled >> 16);

        // Names hold neither digits nor separators, so every alias can be parsed back: two indices never make the same alias.
        var length = 0;
        Append(destination, ref length, first);
        if (style == 3)
            AppendNumber(destination, ref length, number);
        destination[length++] = style switch { 0 => (byte)'.', 1 => (byte)'_', 2 => (byte)'-', _ => (byte)'.' };
        Append(destination, ref length, last);
        if (style != 3)
            AppendNumber(destination, ref length, number);
        destination[length++] = (byte)'@';
        AppendDomain(destination, ref length, SplitMix64.Mix(shuffled ^ _key));
        return length;
    }

    public string this[long index]
    {
        get
        {
            Span<byte> account = stackalloc byte[MaxBytes];
            return Encoding.ASCII.GetString(account[..Write(index, account)]);
        }
    }

    /// <summary>A permutation of 36 bits: a Feistel network, keyed by the seed.</summary>
    private ulong Shuffle(ulong index)
    {
        var (left, right) = (index >> HalfBits, index & HalfMask);
        for (var round = 1UL; round <= 4; round++)
            (left, right) = (right, left ^ (SplitMix64.Mix(right + (round << HalfBits) + _key) & HalfMask));
        return (left << HalfBits) | right;
    }

    private static void AppendDomain(Span<byte> destination, ref int length, ulong random)
    {
        // Most accounts are with the providers. The rest go to companies, rank r about in proportion to 1/r: the ranges between powers
        // of two are equally likely, up to rank 65,535.
        var share = (int)((random & 0xFFFFFFFF) * (ulong)(ProviderShares * 100 / ProviderPercent) >> 32);
        foreach (var (domain, providerShare) in Providers)
        {
            share -= providerShare;
            if (share < 0)
            {
                Append(destination, ref length, domain);
                return;
            }
        }
        var octave = (int)(random >> 32) & 15;
        var rank = (1 << octave) + (int)(random >> 36 & ((1UL << octave) - 1));
        var of = SplitMix64.Mix((ulong)rank);
        Append(destination, ref length, CompanyWords[(int)(of & 31)]);
        if ((of & 32) != 0)
            destination[length++] = (byte)'-';
        AppendNumber(destination, ref length, rank);
        Append(destination, ref length, TailEndings[(int)(of >> 6) & 63]);
    }

    private static void Append(Span<byte> destination, ref int length, ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(destination[length..]);
        length += bytes.Length;
    }

    private static void AppendNumber(Span<byte> destination, ref int length, int number)
    {
        number.TryFormat(destination[length..], out var written, provider: CultureInfo.InvariantCulture);
        length += written;
    }

    private static byte[][] Words(string words, int count)
    {
        var list = words.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        return [.. Enumerable.Range(0, count).Select(
            i => Encoding.ASCII.GetBytes(list[i % list.Length] + (i < list.Length ? "" : "son"[..Math.Min(3, i / list.Length)])))];
    }
}

// Steele, Lea, Flood 2014. A sample must be the same on every runtime version, which System.Random doesn't guarantee.
internal struct SplitMix64(ulong state)
{
    private const ulong Gamma = 0x9E3779B97F4A7C15;

    private ulong _state = state;

    public ulong Next() => Mix(_state += Gamma);

    /// <summary>Returns a number from 0 to below the bound (at most 2^32).</summary>
    public int Below(int bound) => (int)(((Next() >> 32) * (ulong)bound) >> 32);

    /// <summary>The finaliser: a bijection whose result looks random.</summary>
    public static ulong Mix(ulong value)
    {
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
        value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
        return value ^ (value >> 31);
    }
}
