using Microsoft.AspNetCore.Http;

namespace HibpIngest.Testing;

/// <summary>The response of a table service to an entity group transaction whose operations all succeeded.</summary>
internal static class AcceptedTransaction
{
    private static readonly byte[] Start =
        "--batchresponse_x\r\nContent-Type: multipart/mixed; boundary=changesetresponse_x\r\n\r\n"u8.ToArray();
    private static readonly byte[] OperationSucceeded =
    [
        .. "--changesetresponse_x\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"u8,
        .. "HTTP/1.1 204 No Content\r\nX-Content-Type-Options: nosniff\r\n\r\n\r\n"u8,
    ];
    private static readonly byte[] End = "--changesetresponse_x--\r\n--batchresponse_x--\r\n"u8.ToArray();

    public static async Task AnswerAsync(HttpContext context, int operations)
    {
        context.Response.StatusCode = StatusCodes.Status202Accepted;
        context.Response.ContentType = "multipart/mixed; boundary=batchresponse_x";
        var response = new MemoryStream(Start.Length + (operations * OperationSucceeded.Length) + End.Length);
        response.Write(Start);
        for (var i = 0; i < operations; i++)
            response.Write(OperationSucceeded);
        response.Write(End);
        await context.Response.Body.WriteAsync(response.GetBuffer().AsMemory(0, (int)response.Length));
    }
}
