/** Requests to the server. Each returns JSON, or throws an error with the sentence of the problem+json response. */

export type Parameters = Record<string, string | number | null>;

export async function getJson<Answer>(
  path: string,
  parameters: Parameters = {},
  signal?: AbortSignal,
): Promise<Answer> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null) query.set(name, String(value));
  }
  const text = query.toString();
  return readJson<Answer>(await fetch(text ? `${path}?${text}` : path, { signal: signal ?? null }));
}

export async function postJson<Answer>(path: string, body: Record<string, unknown>): Promise<Answer> {
  const headers = { "Content-Type": "application/json" };
  return readJson<Answer>(await fetch(path, { method: "POST", headers, body: JSON.stringify(body) }));
}

async function readJson<Answer>(response: Response): Promise<Answer> {
  if (response.ok) return (await response.json()) as Answer;
  throw new Error(await errorMessage(response));
}

async function errorMessage(response: Response): Promise<string> {
  if (!response.headers.get("Content-Type")?.includes("json")) return `The server answered ${response.status}.`;
  const problem = (await response.json()) as { title?: string; detail?: string };
  return problem.detail || problem.title || `The server answered ${response.status}.`;
}
