namespace HibpIngest.Pipeline.Mail;

/// <summary>The templates: the built-in ones, except those that a folder replaces.</summary>
internal sealed record MailTemplates(
    MailTemplate IndividualText, MailTemplate IndividualHtml, MailTemplate DomainText, MailTemplate DomainHtml)
{
    private static readonly string[] Names = ["individual.txt", "individual.html", "domain.txt", "domain.html"];

    /// <exception cref="BadInputException">The folder can't be read, or contains a .txt or .html file that is no template.</exception>
    public static MailTemplates Read(string? folder)
    {
        try
        {
            var own = folder is null ? [] : Directory.GetFiles(folder).Select(path => Path.GetFileName(path)).ToHashSet();
            foreach (var name in own.Where(name => Path.GetExtension(name) is ".txt" or ".html" && !Names.Contains(name)))
            {
                throw new BadInputException($"HIBP_TEMPLATES has {name}, which is no template; these are: {string.Join(", ", Names)}"
                    + (Spelling.Nearest(name, Names) is { } nearest ? $"; did you mean {nearest}?" : ""));
            }
            var all = Names.Select(
                name => own.Contains(name) ? MailTemplate.Own(Path.Combine(folder!, name)) : MailTemplate.Load(name)).ToList();
            return new MailTemplates(all[0], all[1], all[2], all[3]);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            throw new BadInputException($"HIBP_TEMPLATES '{folder}' can't be read: {e.Message}");
        }
    }
}
