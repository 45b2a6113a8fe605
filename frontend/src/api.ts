/** Asks the server. JSON comes back, or an error whose message is a sentence for people (problem+json). */

export type Parameters = Record<string, string | number | null>;

export async function ask<Answer>(path: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<Answer> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null) query.set(name, String(value));
  }
  const text = query.toString();
  return read<Answer>(await fetch(text ? `${path}?${text}` : path, { signal: signal ?? null }));
}

export async function tell<Answer>(path: string, body: Record<string, unknown>): Promise<Answer> {
  const headers = { "Content-Type": "application/json" };
  return read<Answer>(await fetch(path, { method: "POST", headers, body: JSON.stringify(body) }));
}

async function read<Answer>(response: Response): Promise<Answer> {
  if (response.ok) return (await response.json()) as Answer;
  throw new Error(await sentence(response));
}

async function sentence(response: Response): Promise<string> {
  if (!response.headers.get("Content-Type")?.includes("json")) return `The server answered ${response.status}.`;
  const problem = (await response.json()) as { title?: string; detail?: string };
  return problem.detail || problem.title || `The server answered ${response.status}.`;
}
