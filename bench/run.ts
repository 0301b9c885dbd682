/*
 * `make bench`: starts a durable cluster of three on this machine, runs `orchctl bench` on it with
 * the given arguments, and removes the cluster. The results are in .build/bench.
 */
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { makeDirectoriesSync } from '../base/make-directories.ts'
import { cli } from '../src/cli/cli.ts'
import { OwnCluster, takeDown, terminal } from './own-cluster.ts'

const results = resolve('.build/bench')
const directory = join(results, 'cluster')

const given = process.argv.slice(2)
// Help needs no cluster.
if (given.includes('--help') || given.includes('-h')) process.exit(await cli(['bench', '--help'], terminal))
makeDirectoriesSync(results)
try {
  const { flags } = await OwnCluster.up(directory)
  const files = ['--json', join(results, 'results.json'), '--html', join(results, 'results.html')]
  const how = [...flags, ...files, '-o', 'markdown', ...given]
  const lines: string[] = []
  const print = (line: string): void => {
    lines.push(line)
    console.log(line)
  }
  process.exitCode = await cli(['bench', ...how], { ...terminal, print })
  writeFileSync(join(results, 'results.md'), `${lines.join('\n')}\n`)
  console.error(`results.json, results.html and results.md are in ${results}`)
} finally {
  await takeDown(directory)
}
