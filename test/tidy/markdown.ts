/*
 * The parts of Markdown that the tests of the documents need: headings with their anchors, links,
 * and blocks of commands.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = normalize(join(fileURLToPath(new URL('.', import.meta.url)), '../../..'))

const folders = ['bench', 'cluster-config', 'docs', 'raft', 'src', 'test']

export type Link = { readonly line: number; readonly target: string }

/** Returns the paths of all Markdown files of the repository, relative to its root. */
export function documentPaths(): readonly string[] {
  const top = readdirSync(root).filter((name) => name.endsWith('.md'))
  const nested = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.md'))
      .map((path) => `${folder}/${path}`),
  )
  return [...top, ...nested].sort()
}

export function readDocument(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

/**
 * Returns the anchors of all headings, by the rules that GitHub uses: a repeated heading gets `-1`,
 * `-2` and so on. Explicit ones (`<a id="x">`) count too.
 */
export function anchorsOf(markdown: string): ReadonlySet<string> {
  const seen = new Map<string, number>()
  const anchors = new Set<string>()
  for (const { text } of proseLines(markdown)) {
    for (const [, id = ''] of text.matchAll(/<a id="([^"]+)">/g)) anchors.add(id)
    const heading = /^#{1,6} +(.*?) *#*$/.exec(text)?.[1]
    if (heading === undefined) continue
    const slug = slugOf(heading)
    const times = seen.get(slug) ?? 0
    seen.set(slug, times + 1)
    anchors.add(times === 0 ? slug : `${slug}-${times}`)
  }
  return anchors
}

/** Returns the targets of all links and images outside code. */
export function linksOf(markdown: string): readonly Link[] {
  return proseLines(markdown).flatMap(({ line, text }) =>
    [...text.replace(/`[^`]*`/g, '').matchAll(/\]\(([^()\s]+)\)/g)].map(([, target = '']) => ({
      line,
      target,
    })),
  )
}

/** Returns the contents of all fenced blocks in the language, such as `sh`. */
export function blocksOf(markdown: string, language: string): readonly string[] {
  return [...markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .filter(([, name]) => name === language)
    .map(([, , text = '']) => text)
}

/** Returns the lines outside fenced blocks, numbered from 1. */
export function proseLines(markdown: string): readonly { readonly line: number; readonly text: string }[] {
  let isCode = false
  return markdown.split('\n').flatMap((text, at) => {
    if (text.trimStart().startsWith('```')) isCode = !isCode
    return isCode || text.trimStart().startsWith('```') ? [] : [{ line: at + 1, text }]
  })
}

function slugOf(heading: string): string {
  return heading
    .replace(/<[^>]*>/g, '')
    .replace(/\]\([^)]*\)/g, ']')
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replace(/ /g, '-')
}
