from replnet.cli import main

main()
